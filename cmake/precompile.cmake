# SPDX-License-Identifier: Apache-2.0
# Headers of others that most sources of a target include, read once for all of them: without, half
# of the time of a build goes into reading them again. Sources include what they use all the same;
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows whether they do.
set(ROCKSIEVE_STD_HEADERS
  <algorithm> <chrono> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view>
  <utility> <vector>)
set(ROCKSIEVE_ABSL_HEADERS <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h>)
set(ROCKSIEVE_ROCKSDB_HEADERS
  <rocksdb/db.h> <rocksdb/filter_policy.h> <rocksdb/options.h> <rocksdb/status.h> <rocksdb/table.h>)
set(ROCKSIEVE_COMMAND_HEADERS <CLI/CLI.hpp> <iostream> <nlohmann/json.hpp>)
set(ROCKSIEVE_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h> <random> <sstream>)

# Of a target whose folders are parts of their own: the sources of a folder are compiled as one.
function(rocksieve_compile_folders_as_one target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "in_${folder}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# rocksieve_precompile(TARGET KIND...): KIND is STD, ABSL, ROCKSDB, COMMAND or TEST. The programs of a
# folder share what is precompiled, since that takes as long as some of them do. The first may have no
# definitions of its own: the compiler would refuse it to others (-Winvalid-pch).
function(rocksieve_precompile target)
  string(JOIN "_" key ROCKSIEVE_PRECOMPILED ${ARGN})
  get_property(first DIRECTORY PROPERTY ${key})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE" AND first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set(headers ${ROCKSIEVE_STD_HEADERS})
  foreach(kind ${ARGN})
    list(APPEND headers ${ROCKSIEVE_${kind}_HEADERS})
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
  if(type STREQUAL "EXECUTABLE")
    set_property(DIRECTORY PROPERTY ${key} ${target})
  endif()
endfunction()
