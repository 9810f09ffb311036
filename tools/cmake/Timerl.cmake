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

# timerl_embed(OUTPUT file.cpp HEADER h ELEMENT type FUNCTION f ROOT dir FILES ...)
# Text files as an array in the compiler itself; see Embed.cmake.
function(timerl_embed)
  cmake_parse_arguments(ARG "" "OUTPUT;HEADER;ELEMENT;FUNCTION;ROOT" "FILES" ${ARGN})
  string(REPLACE ";" "|" files "${ARG_FILES}")
  add_custom_command(OUTPUT ${ARG_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${ARG_OUTPUT} -DHEADER=${ARG_HEADER} -DELEMENT=${ARG_ELEMENT}
            -DFUNCTION=${ARG_FUNCTION} -DROOT=${ARG_ROOT} "-DFILES=${files}"
            -P ${CMAKE_SOURCE_DIR}/tools/cmake/Embed.cmake
    DEPENDS ${ARG_FILES} ${CMAKE_SOURCE_DIR}/tools/cmake/Embed.cmake
    VERBATIM)
endfunction()
