# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What BATKIT_MINIMAL changes: fewer files, headers, tools and exported functions. Files in folders called "minimal" stand in
# for those of the same names, and refuse what is left out.

# Of these rooms a note needs a few files.
foreach(source binary/functions/eh_frame binary/functions/name_parts support/dwarf_numbers support/key_sort support/temporary
  support/text_writer)
  list(APPEND BATKIT_SOURCES ${PROJECT_SOURCE_DIR}/${source}.c)
endforeach()
list(FILTER BATKIT_SOURCES EXCLUDE REGEX "/binary/(profile_name|read_json[a-z_]*)\\.c$")
list(REMOVE_ITEM BATKIT_SOURCES ${PROJECT_SOURCE_DIR}/elfnote/debugdata.c ${PROJECT_SOURCE_DIR}/elfnote/unpack.c
  ${PROJECT_SOURCE_DIR}/validate/check_original.c
  ${PROJECT_SOURCE_DIR}/validate/check_probes.c)
file(GLOB minimal_sources CONFIGURE_DEPENDS binary/minimal/*.c binary/original/minimal/*.c)
list(APPEND BATKIT_SOURCES ${minimal_sources} ${PROJECT_SOURCE_DIR}/elfnote/minimal/debugdata.c ${PROJECT_SOURCE_DIR}/elfnote/minimal/unpack.c
  ${PROJECT_SOURCE_DIR}/validate/minimal/check_original.c
  ${PROJECT_SOURCE_DIR}/validate/minimal/check_probes.c)
set(BATKIT_HEADERS spec/bat.h decoder/bat_decoder.h encoder/bat_encoder.h elfnote/bat_elf.h elfnote/bat_output.h
  binary/bat_binary.h validate/bat_validate.h store/bat_store.h)

# The linker script names the functions that these headers declare.
foreach(header ${BATKIT_HEADERS} spec/bat_version.h.in)
  file(READ ${header} text)
  string(REGEX REPLACE "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" "" text "${text}")
  string(APPEND declarations "${text}")
endforeach()
file(READ ${BATKIT_MAP} map)
string(REGEX MATCHALL "bat_[a-z0-9_]+;" names "${map}")
foreach(name ${names})
  if(NOT declarations MATCHES "[ *]${name}\\(")
    string(REPLACE "        ${name};\n" "" map "${map}")
  endif()
endforeach()
set(BATKIT_MAP ${PROJECT_BINARY_DIR}/batkit.map)
file(CONFIGURE OUTPUT ${BATKIT_MAP} CONTENT "${map}" @ONLY)

set(BATKIT_ALL_TOOLS batdump batinject batvalidate)
# A macro, because it sets the lists of sources.
macro(minimal_tools)
  list(FILTER tool_common INCLUDE REGEX "/(common_options|output|steps|stores|tool|truncated)\\.c$")
  foreach(tool ${BATKIT_ALL_TOOLS})
    file(GLOB stand_ins CONFIGURE_DEPENDS tools/${tool}/minimal/*.c)
    foreach(stand_in ${stand_ins})
      get_filename_component(name ${stand_in} NAME)
      list(REMOVE_ITEM ${tool}_sources ${PROJECT_SOURCE_DIR}/tools/${tool}/${name})
    endforeach()
    list(APPEND ${tool}_sources ${stand_ins})
  endforeach()
endmacro()
