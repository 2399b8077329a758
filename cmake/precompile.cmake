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
set(ROCKSIEVE_COMMAND_HEADERS <iostream> <CLI/CLI.hpp> <nlohmann/json.hpp>)
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

set(ROCKSIEVE_ABSL_LIBRARIES absl::status absl::statusor absl::strings)
set(ROCKSIEVE_ROCKSDB_LIBRARIES RocksDB::rocksdb-shared)
set(ROCKSIEVE_COMMAND_LIBRARIES CLI11::CLI11 nlohmann_json::nlohmann_json)
set(ROCKSIEVE_TEST_LIBRARIES GTest::gtest GTest::gmock)
set(ROCKSIEVE_GRPC_LIBRARIES gRPC::grpc++)  # which defines _REENTRANT

# rocksieve_precompile(TARGET KIND...): KIND is ABSL, ROCKSDB, COMMAND, TEST or GRPC. The programs of a
# folder share what is precompiled, since that takes as long as some of them do. It belongs to an empty
# program: others would be built for it, and the compiler refuses it (-Winvalid-pch) to sources that
# lack a definition with which it was made.
function(rocksieve_precompile target)
  set(headers ${ROCKSIEVE_STD_HEADERS})
  set(libraries)
  foreach(kind ${ARGN})
    list(APPEND headers ${ROCKSIEVE_${kind}_HEADERS})
    list(APPEND libraries ${ROCKSIEVE_${kind}_LIBRARIES})
  endforeach()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} PRIVATE ${headers})
    return()
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
             OUTPUT_VARIABLE folder)
  string(JOIN "_" owner precompiled ${folder} ${ARGN})
  string(MAKE_C_IDENTIFIER ${owner} owner)
  if(NOT TARGET ${owner})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${owner}.cc)
    file(GENERATE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
    add_executable(${owner} EXCLUDE_FROM_ALL ${source})
    set_target_properties(${owner} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    foreach(library ${libraries})  # where the folder knows none, its headers are in the system's folder
      target_link_libraries(${owner} PRIVATE $<TARGET_NAME_IF_EXISTS:${library}>)
    endforeach()
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
