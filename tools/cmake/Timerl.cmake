# Helpers shared by the project's CMake files.

# timerl_add_library(NAME SOURCES... [LINK libs...] [DEPENDS targets...])
# A static library of the compiler. MLIR and LLVM come from the two shared
# libraries alone: a static LLVM archive next to them would register options twice.
function(timerl_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# timerl_add_tool(NAME SOURCES... [LINK libs...]): an executable in bin/.
function(timerl_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
endfunction()
