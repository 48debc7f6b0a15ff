# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Debian packages: cmake --preset deb && cmake --build --preset deb && (cd build-deb && cpack -G DEB)
# makes batkit (the tools), libbatkit0 (the shared library) and libbatkit-dev.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "batkit maintainers <maintainers@batkit.example>" CACHE STRING
  "Who maintains the packages: a name and an address")
# Each package has its own summary, in the first line of its description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL tools runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Lower than the release of any package that Debian itself would make of this version.
set(CPACK_DEBIAN_PACKAGE_RELEASE 0.1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake)
set(CPACK_BATKIT_SOURCE_DIR ${PROJECT_SOURCE_DIR})

set(about "BOLT, the post-link optimizer of LLVM, leaves a BOLT Address Translation
(BAT) note in a program. It maps the program's addresses back to the one that
BOLT read, so that profiles of the optimized program can optimize the next
build.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME batkit)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "linux-perf, zstd, parallel, slurm-client")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "tools for BOLT Address Translation notes
${about}
.
batdump shows a note, batinject takes it out or puts one in, batvalidate
checks it, battranslate translates profiles with it, batsymbolize names
functions and source lines of addresses and stacks, and batreport writes a
page with a map of the code. Scripts for the profiles of many hosts are in
/usr/share/batkit/fleet.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libbatkit0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
# finish.cmake finds the dependencies. If CPack did that, it would add scripts that call ldconfig;
# Debian has a trigger for that.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "library for BOLT Address Translation notes
${about}
.
This library reads and writes notes, and translates profiles with them.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libbatkit-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The development packages are for static links.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libbatkit0 (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libbz2-dev, \
libcapstone-dev, libdw-dev, libelf-dev, liblzma-dev, libprotobuf-c-dev, libxxhash-dev, libyajl-dev, libzstd-dev, libzydis-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "library for BOLT Address Translation notes (development)
${about}
.
These are the headers, the static library, and the files by which pkg-config
and CMake find the library.")
include(CPack)
