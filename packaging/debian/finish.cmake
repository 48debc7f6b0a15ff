# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# CPack runs this script after it has installed into its own folders, and before it makes packages of
# them. The script strips programs and libraries, gives each package its copyright file and changelogs,
# compresses the files that Debian wants compressed, and writes the library's dependencies and control
# files.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(GLOB folder ${CPACK_TEMPORARY_DIRECTORY}/development${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/batkit)
string(REGEX REPLACE batkit$ libbatkit-dev renamed "${folder}")
file(RENAME ${folder} ${renamed})
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(usr ${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX})
  set(doc ${usr}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  # The copyright file has the licence.
  file(REMOVE ${usr}/share/doc/batkit/LICENSE)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${doc}/copyright COPYONLY)
  configure_file(${CPACK_BATKIT_SOURCE_DIR}/CHANGELOG.md ${doc}/changelog COPYONLY)
  file(WRITE ${doc}/changelog.Debian "batkit (${version}) unstable; urgency=medium

  * Made by CPack from the sources of this version.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  file(GLOB manuals ${usr}/share/man/man1/*.1)
  run(gzip --best --no-name --force ${doc}/changelog ${doc}/changelog.Debian ${manuals})
endforeach()

set(usr ${CPACK_TEMPORARY_DIRECTORY}/runtime${CPACK_PACKAGING_INSTALL_PREFIX})
file(GLOB_RECURSE library ${usr}/libbatkit.so.*.*)
file(GLOB programs ${CPACK_TEMPORARY_DIRECTORY}/tools${CPACK_PACKAGING_INSTALL_PREFIX}/bin/*)
file(GLOB_RECURSE archive ${CPACK_TEMPORARY_DIRECTORY}/development/*/libbatkit.a)
set(sections --remove-section=.comment --remove-section=.note)
run(strip ${sections} ${programs})
run(strip ${sections} --strip-unneeded ${library})
run(strip ${sections} --strip-debug --enable-deterministic-archives ${archive})

# The packages are not moved, so batkit.pc names the prefix. pkg-config then recognises the folders that
# the compiler searches by itself, and leaves them out.
file(GLOB_RECURSE pc ${CPACK_TEMPORARY_DIRECTORY}/development/*/batkit.pc)
file(READ ${pc} text)
string(REGEX REPLACE "^prefix=[^\n]*" "prefix=${CPACK_PACKAGING_INSTALL_PREFIX}" text "${text}")
file(WRITE ${pc} "${text}")

# The dependencies of the shared library. dpkg-shlibdeps must run beside debian/control.
set(control ${CPACK_TEMPORARY_DIRECTORY}/control)
file(WRITE ${control}/debian/control "")
execute_process(COMMAND dpkg-shlibdeps -O ${library} WORKING_DIRECTORY ${control}
  OUTPUT_VARIABLE depends ERROR_VARIABLE messages RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "dpkg-shlibdeps: ${messages}")
endif()
string(REGEX REPLACE "^shlibs:Depends=|\n$" "" depends "${depends}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${depends}")

# The dependencies of packages that use the library: the version that added the last of the symbols that they use,
# according to the version script. The folder is not packaged.
set(symbols "libbatkit.so.0 libbatkit0\n* Build-Depends-Package: libbatkit-dev\n")
file(STRINGS ${CPACK_BATKIT_SOURCE_DIR}/packaging/batkit.map lines REGEX "^BATKIT_| bat_")
foreach(line ${lines})
  if(line MATCHES "^(BATKIT_([0-9.]+))")
    set(node ${CMAKE_MATCH_1})
    set(since ${CMAKE_MATCH_2})
    string(APPEND symbols " ${node}@${node} ${since}\n")
  elseif(line MATCHES "(bat_[a-z0-9_]+)")
    string(APPEND symbols " ${CMAKE_MATCH_1}@${node} ${since}\n")
  endif()
endforeach()
file(WRITE ${control}/symbols "${symbols}")
file(WRITE ${control}/shlibs "libbatkit 0 libbatkit0\n")
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${control}/symbols ${control}/shlibs ${control}/triggers)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
