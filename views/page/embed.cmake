# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes a C source with the page's code and style:
#
#   cmake -DFOLDER=views/page/web -DOUTPUT=page.c -P embed.cmake
#
# Each file in web/ is a JavaScript module. A page that is one file cannot import modules, so they are
# put behind each other, in this order, without their lines of import and the word export: names at the
# top of a module are unique in all of them.
set(report_modules packed.js format.js code.js data.js refused.js heat.js dom.js grid.js table.js lane.js map.js layout.js
  blocks.js sides.js instructions.js next.js function.js stacks.js views.js report.js)
set(comparison_modules packed.js format.js code.js pairs.js heat.js dom.js grid.js changes.js lane.js map.js both.js
  blocks.js sides.js pair.js views.js comparison.js)

foreach(page report comparison)
  set(${page}_script "\"use strict\";\n(() => {\n")
  foreach(module ${${page}_modules})
    file(READ ${FOLDER}/${module} text)
    string(REGEX REPLACE "(^|\n)import [^\n]* from \"[^\n]*\";" "" text "${text}")
    string(REGEX REPLACE "(^|\n)export " "\\1" text "${text}")
    string(APPEND ${page}_script "${text}")
  endforeach()
  string(APPEND ${page}_script "})();\n")
endforeach()
file(READ ${FOLDER}/page.css style)

function(embed name text)
  string(TOLOWER "${text}" lower)
  if(lower MATCHES "</s(cript|tyle)|<!--")
    message(FATAL_ERROR "the page's ${name} has text that would end its element")
  endif()
  file(WRITE ${OUTPUT}.${name} "${text}")
  file(READ ${OUTPUT}.${name} hex HEX)
  file(SHA256 ${OUTPUT}.${name} sha256)
  file(REMOVE ${OUTPUT}.${name})
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  # A line for each 24 bytes.
  string(REGEX REPLACE "(........................................................................................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "(..)" "0x\\1," sha256 "${sha256}")
  file(APPEND ${OUTPUT}.new "static const uint8_t ${name}_bytes[] = {\n${bytes}};\n"
    "const struct report_file ${name} = {\n${name}_bytes, sizeof(${name}_bytes), {${sha256}}};\n")
endfunction()

file(WRITE ${OUTPUT}.new "/* Made by views/page/embed.cmake. */\n#include \"views/page/page.h\"\n")
embed(report_script "${report_script}")
embed(comparison_script "${comparison_script}")
embed(report_style "${style}")
file(RENAME ${OUTPUT}.new ${OUTPUT})
