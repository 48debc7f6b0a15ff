# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs three components: tools (with manual pages and completions), runtime (the shared library) and
# development (headers, the static library, examples, and the files by which pkg-config and CMake find
# the library).
include(CMakePackageConfigHelpers)

if(BATKIT_TOOLS)
  install(TARGETS ${BATKIT_TOOL_NAMES} RUNTIME COMPONENT tools)
  set(BATKIT_BASH_FOLDER ${CMAKE_INSTALL_DATADIR}/bash-completion/completions CACHE STRING
    "Where bash looks for completions")
  set(BATKIT_ZSH_FOLDER ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
    "Where zsh looks for completions")
  foreach(tool ${BATKIT_TOOL_NAMES})
    install(FILES man/${tool}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
    install(FILES completions/bash/${tool} DESTINATION ${BATKIT_BASH_FOLDER} COMPONENT tools)
    install(FILES completions/zsh/_${tool} DESTINATION ${BATKIT_ZSH_FOLDER} COMPONENT tools)
  endforeach()
  # As in the source tree, so that links lead to files.
  install(FILES README.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)
  foreach(folder docs spec)
    file(GLOB pages CONFIGURE_DEPENDS ${folder}/*.md ${folder}/*.png)
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT tools)
  endforeach()
endif()
if(BATKIT_TOOLS AND NOT BATKIT_MINIMAL)
  # The scripts of a fleet, but not what they are tested and measured with, which needs the source tree.
  set(fleet_folder ${CMAKE_INSTALL_DATADIR}/batkit/fleet)
  foreach(folder steps local slurm stream host)
    file(GLOB scripts CONFIGURE_DEPENDS fleet/${folder}/*.sh)
    list(FILTER scripts EXCLUDE REGEX "/common\\.sh$")
    install(PROGRAMS ${scripts} DESTINATION ${fleet_folder}/${folder} COMPONENT tools)
  endforeach()
  install(FILES fleet/steps/common.sh DESTINATION ${fleet_folder}/steps COMPONENT tools)
  install(FILES fleet/host/batkit-collect.service fleet/host/batkit-collect.timer
    DESTINATION ${fleet_folder}/host COMPONENT tools)
  install(FILES fleet/README.md DESTINATION ${fleet_folder} COMPONENT tools)
endif()

set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/batkit)
foreach(kind ${BATKIT_KINDS})
  install(TARGETS batkit_${kind} EXPORT batkit-${kind}-targets
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE COMPONENT development)
  install(EXPORT batkit-${kind}-targets NAMESPACE batkit:: DESTINATION ${cmake_folder}
    COMPONENT development)
endforeach()
foreach(header ${BATKIT_HEADERS})
  get_filename_component(name ${header} NAME)
  list(APPEND headers ${PROJECT_BINARY_DIR}/include/batkit/${name})
endforeach()
install(FILES ${headers} ${PROJECT_BINARY_DIR}/include/batkit/bat_version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/batkit COMPONENT development)
if(NOT BATKIT_MINIMAL)
  # Without what was made by trying them there.
  install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT development
    PATTERN releases EXCLUDE PATTERN target EXCLUDE PATTERN r1 EXCLUDE PATTERN r2 EXCLUDE
    PATTERN sample.json EXCLUDE PATTERN Cargo.lock EXCLUDE PATTERN .gitignore EXCLUDE)
endif()

configure_package_config_file(packaging/batkit-config.cmake.in
  ${PROJECT_BINARY_DIR}/batkit-config.cmake INSTALL_DESTINATION ${cmake_folder})
# Before 1.0, minor versions may export different functions.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/batkit-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/batkit-config.cmake
  ${PROJECT_BINARY_DIR}/batkit-config-version.cmake
  DESTINATION ${cmake_folder} COMPONENT development)

# batkit.pc is written during the installation, because the prefix is not known before.
set(PC_SOURCE ${PROJECT_SOURCE_DIR}/packaging/batkit.pc.in)
configure_file(packaging/install_pc.cmake.in install_pc.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/install_pc.cmake COMPONENT development)
