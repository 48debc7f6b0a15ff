#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# batkit as a part of another project, whose settings must not change; and the library installed from
# there into folders that are given as absolute paths.
#
#   sh tests/check_subproject.sh
set -eu

tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/checks.sh"
cd "$work"

# A project with targets, and a test, that have the names of some of batkit's own.
mkdir parent
cp "$tests/consumer.c" parent
cat >parent/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(parent C)
enable_testing()
include(FetchContent)
foreach(name BUILD_TYPE C_FLAGS C_STANDARD C_EXTENSIONS RUNTIME_OUTPUT_DIRECTORY INTERPROCEDURAL_OPTIMIZATION
  POSITION_INDEPENDENT_CODE EXPORT_COMPILE_COMMANDS EXE_LINKER_FLAGS SHARED_LINKER_FLAGS)
  set(before_${name} "${CMAKE_${name}}")
endforeach()
get_cmake_property(variables_before CACHE_VARIABLES)
FetchContent_Declare(batkit SOURCE_DIR ${BATKIT_FOLDER})
FetchContent_MakeAvailable(batkit)

foreach(name BUILD_TYPE C_FLAGS C_STANDARD C_EXTENSIONS RUNTIME_OUTPUT_DIRECTORY INTERPROCEDURAL_OPTIMIZATION
  POSITION_INDEPENDENT_CODE EXPORT_COMPILE_COMMANDS EXE_LINKER_FLAGS SHARED_LINKER_FLAGS)
  if(NOT "${CMAKE_${name}}" STREQUAL "${before_${name}}")
    message(FATAL_ERROR "CMAKE_${name} has become ${CMAKE_${name}}")
  endif()
endforeach()
foreach(name COMPILE_OPTIONS COMPILE_DEFINITIONS LINK_OPTIONS INCLUDE_DIRECTORIES)
  get_directory_property(value ${name})
  if(value)
    message(FATAL_ERROR "${name} has become ${value}")
  endif()
endforeach()
get_property(targets DIRECTORY ${batkit_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
get_property(tests DIRECTORY ${batkit_SOURCE_DIR} PROPERTY TESTS)
list(FILTER targets EXCLUDE REGEX ^batkit_)
if(targets OR tests)
  message(FATAL_ERROR "batkit has the targets ${targets} and the tests ${tests}")
endif()
# Variables of find_package and pkg_check_modules begin with the library's name, or with __pkg_config.
get_cmake_property(variables CACHE_VARIABLES)
list(REMOVE_ITEM variables ${variables_before})
list(FILTER variables EXCLUDE REGEX
  "^(BATKIT|(pkgcfg_lib_|__pkg_config_[a-z]*_)?batkit|CMAKE_INSTALL|_GNUInstallDirs|CMAKE_HAVE_LIBC|CMAKE_PROJECT|\
FIND_PACKAGE_MESSAGE|FETCHCONTENT|PKG_CONFIG|Zydis|Zycore|prefix_result)")
if(variables)
  message(FATAL_ERROR "the cache has ${variables}")
endif()

add_library(bench INTERFACE)
add_library(batdump INTERFACE)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE batkit::batkit)
CMAKE

configure() {
    quietly cmake -S parent -B build -G Ninja "-DBATKIT_FOLDER=$tests/.." -DFETCHCONTENT_FULLY_DISCONNECTED=ON "$@"
    grep -q 'CMake Warning' log && fail "$(cat log)"
    quietly cmake --build build
}

# The consumer was linked with that many shared libraries of batkit, and runs.
check_consumer() {
    needed=$(readelf -d build/consumer | grep -c 'NEEDED.*\[libbatkit\.so\.0\]') || true
    [ "$needed" -eq "$1" ] || fail "the consumer needs $needed shared libraries of batkit, not $1"
    build/consumer "$tests/data/good/sketch.note" >output
    grep -qx "2 hot functions, 1 cold fragments" output || fail "the consumer prints $(cat output)"
}

configure
check_consumer 0
quietly cmake --install build --prefix "$work/nothing"
[ ! -e nothing ] || fail "installing the project installs $(find nothing -type f)"
[ -z "$(find build -name 'libbatkit.so*')" ] || fail "the shared library is built, too"

# pkg-config's answer for a variable of the batkit.pc in that folder.
variable() {
    realpath "$(PKG_CONFIG_PATH=$1/pkgconfig pkg-config "--variable=$2" batkit)"
}

# The same objects, linked again as the shared library, and its installed place.
configure -DBUILD_SHARED_LIBS=ON -DBATKIT_INSTALL=ON "-DCMAKE_INSTALL_LIBDIR=$work/a/lib" \
    "-DCMAKE_INSTALL_INCLUDEDIR=$work/a/headers"
check_consumer 1
quietly cmake --install build --prefix "$work/other"
[ "$(variable a/lib libdir) $(variable a/lib includedir)" = "$work/a/lib $work/a/headers" ] ||
    fail "two absolute folders: $(cat a/lib/pkgconfig/batkit.pc)"
mkdir c
cp parent/consumer.c c
cat >c/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(c C)
find_package(batkit REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE batkit::batkit)
CMAKE
quietly cmake -S c -B build_c -G Ninja "-Dbatkit_DIR=$work/a/lib/cmake/batkit"
quietly cmake --build build_c
[ -e a/lib/libbatkit.a ] && fail "the static library is installed, too"

configure "-DCMAKE_INSTALL_LIBDIR=$work/b/lib" -DCMAKE_INSTALL_INCLUDEDIR=headers
quietly cmake --install build --prefix "$work/b2"
[ "$(variable b/lib libdir) $(variable b/lib includedir)" = "$work/b/lib $work/b2/headers" ] ||
    fail "an absolute folder for libraries: $(cat b/lib/pkgconfig/batkit.pc)"

configure "-DCMAKE_INSTALL_LIBDIR=lib/deep" "-DCMAKE_INSTALL_INCLUDEDIR=$work/d/headers"
quietly env "DESTDIR=$work/root" cmake --install build --prefix "/somewhere"
[ "$(variable root/somewhere/lib/deep libdir)" = "$work/root/somewhere/lib/deep" ] &&
    grep -qx "includedir=$work/d/headers" root/somewhere/lib/deep/pkgconfig/batkit.pc ||
    fail "an absolute folder for headers: $(cat root/somewhere/lib/deep/pkgconfig/batkit.pc)"
echo "batkit does not change the project that includes it; batkit.pc keeps absolute folders"
