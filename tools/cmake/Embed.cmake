# Run with cmake -P: writes a C++ file that holds text files as an array.
#   OUTPUT   the C++ file        HEADER  what it includes
#   ELEMENT  type of an element, made of two string literals: name and text
#   FUNCTION the function that returns the array, in namespace timerl
#   ROOT     names are relative to it
#   FILES    the files, separated by `|`
string(REPLACE "|" ";" FILES "${FILES}")
set(rows "")
list(LENGTH FILES count)
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name "${ROOT}" "${file}")
  # As bytes: any text then is a literal.
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
  string(APPEND rows "    {\"${name}\", \"${bytes}\"},\n")
endforeach()
if(count EQUAL 0)
  set(rows "    {\"\", \"\"},\n")
endif()
file(WRITE "${OUTPUT}.tmp" "// Made from text files by tools/cmake/Embed.cmake.
#include \"${HEADER}\"

static constexpr timerl::${ELEMENT} table[] = {
${rows}};

llvm::ArrayRef<timerl::${ELEMENT}> timerl::${FUNCTION}() {
  return llvm::ArrayRef<timerl::${ELEMENT}>(table).take_front(${count});
}
")
file(RENAME "${OUTPUT}.tmp" "${OUTPUT}")
