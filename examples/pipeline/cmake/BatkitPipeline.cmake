# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# BOLT in a CMake build, release after release. Copy this file, profile.sh and qemu_branches.c into one folder.
#
#   include(BatkitPipeline)
#   batkit_bolt(TARGET app [PROFILE FILE...] [LAST FOLDER] [TRAINING ARGUMENT...] [FOLDER FOLDER] [OPTIONS OPTION...])
#
# builds with `all` what a release is, in FOLDER (app.release in the build folder):
#   app         the program as it was linked, which the next release needs
#   app.fdata   the profile that it was BOLTed with
#   app.bolt    what ships: BOLTed, checked, without what is not loaded
#   store       has app.bolt whole
#
# The profile is one of these:
#   PROFILE FILE              fdata of this build
#   LAST FOLDER               the folder of the last release: its recordings (PROFILE, or `production` in that folder) are
#                             carried to this build
#   TRAINING ARGUMENT...      the first release: the program runs with these arguments, see profile.sh
#
# With CTest the test app.note checks the note of app.bolt.
#
#   batkit_production(TARGET app WORK ARGUMENT...)
#
# is a target app-production: runs what ships, leaves the recording in FOLDER/production, and checks it.
# In real production, copy perf.data of your hosts there.
cmake_minimum_required(VERSION 3.18)

find_program(BATKIT_LLVM_BOLT NAMES llvm-bolt llvm-bolt-22 REQUIRED)
foreach(tool battranslate batvalidate batinject)
  string(TOUPPER ${tool} variable)
  find_program(BATKIT_${variable} ${tool} REQUIRED)
endforeach()
find_file(BATKIT_PROFILE_SH profile.sh PATHS ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/.. NO_DEFAULT_PATH
  REQUIRED)

set(BATKIT_BOLT_OPTIONS -reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -dyno-stats)

function(batkit_bolt)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;LAST;FOLDER" "PROFILE;TRAINING;OPTIONS")
  if(NOT arg_TARGET OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "batkit_bolt: expected TARGET and known arguments, found ${ARGV}")
  endif()
  set(target ${arg_TARGET})
  if(NOT arg_FOLDER)
    set(arg_FOLDER ${target}.release)
  endif()
  set(options ${BATKIT_BOLT_OPTIONS})
  if(arg_OPTIONS)
    set(options ${arg_OPTIONS})
  endif()
  # As CMake has it: files are in the source folder, what is built in the build folder.
  get_filename_component(arg_FOLDER ${arg_FOLDER} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  foreach(variable LAST PROFILE)
    set(paths)
    foreach(path ${arg_${variable}})
      get_filename_component(path ${path} ABSOLUTE)
      list(APPEND paths ${path})
    endforeach()
    set(arg_${variable} ${paths})
  endforeach()
  set(app ${arg_FOLDER}/${target})
  file(MAKE_DIRECTORY ${arg_FOLDER})

  # Relocations for llvm-bolt, and a build-id, by which tools find the files of a release.
  target_link_options(${target} PRIVATE -Wl,-q -Wl,--build-id=sha1)
  add_custom_command(OUTPUT ${app}
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${target}> ${app}
    DEPENDS ${target} $<TARGET_FILE:${target}> VERBATIM)

  if(arg_LAST)
    set(last ${arg_LAST}/${target})
    if(NOT arg_PROFILE)
      set(arg_PROFILE ${arg_LAST}/production)
    endif()
    set(recordings ${arg_PROFILE})
    list(TRANSFORM recordings PREPEND "-p;")
    add_custom_command(OUTPUT ${app}.fdata
      COMMAND ${BATKIT_BATTRANSLATE} ${last}.bolt --store=${arg_LAST}/store --original=${last} ${recordings}
        --for=${app} --check -o ${app}.fdata
      DEPENDS ${app} ${arg_PROFILE} COMMENT "Carrying the profile of ${arg_LAST} to ${target}" VERBATIM)
  elseif(arg_PROFILE)
    add_custom_command(OUTPUT ${app}.fdata
      COMMAND ${CMAKE_COMMAND} -E copy ${arg_PROFILE} ${app}.fdata DEPENDS ${arg_PROFILE} VERBATIM)
  else()
    add_custom_command(OUTPUT ${app}.fdata
      COMMAND ${CMAKE_COMMAND} -E env BOLT=${BATKIT_LLVM_BOLT} BATTRANSLATE=${BATKIT_BATTRANSLATE}
        sh ${BATKIT_PROFILE_SH} first ${app} ${app}.fdata -- ${arg_TRAINING}
      DEPENDS ${app} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} COMMENT "First profile of ${target}" VERBATIM)
  endif()

  add_custom_command(OUTPUT ${app}.bolt
    COMMAND ${BATKIT_LLVM_BOLT} ${app} -o ${app}.whole -data ${app}.fdata --enable-bat ${options} > ${app}.log 2>&1
      || (cat ${app}.log && false)
    COMMAND grep "taken branches" ${app}.log || true
    COMMAND ${BATKIT_BATVALIDATE} --round-trip --original=${app} ${app}.whole
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${arg_FOLDER}/store
    COMMAND ${BATKIT_BATINJECT} ${app}.whole --store=${arg_FOLDER}/store -o ${app}.bolt
    COMMAND ${CMAKE_COMMAND} -E rm ${app}.whole
    DEPENDS ${app} ${app}.fdata COMMENT "BOLTing ${target}")
  add_custom_target(${target}-bolt ALL DEPENDS ${app}.bolt)
  add_test(NAME ${target}.note
    COMMAND ${BATKIT_BATVALIDATE} --round-trip --original=${app} --store=${arg_FOLDER}/store ${app}.bolt)
  set_target_properties(${target} PROPERTIES BATKIT_APP ${app})
endfunction()

function(batkit_production)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET" "WORK")
  get_target_property(app ${arg_TARGET} BATKIT_APP)
  get_filename_component(folder ${app} DIRECTORY)
  add_custom_target(${arg_TARGET}-production
    COMMAND ${CMAKE_COMMAND} -E env BOLT=${BATKIT_LLVM_BOLT}
      sh ${BATKIT_PROFILE_SH} record ${app}.bolt ${folder}/production -- ${arg_WORK}
    COMMAND ${BATKIT_BATTRANSLATE} ${app}.bolt --store=${folder}/store --original=${app} -p ${folder}/production
      --check --check-baseline=${app}.fdata -o ${folder}/production.fdata
    DEPENDS ${app}.bolt WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} VERBATIM)
endfunction()
