# SPDX-License-Identifier: Apache-2.0
# What RocksDB's CMake asks of a plugin that lies in its folder plugin/ (RocksDB's plugin/README.md).
# The sources and headers are those of rocksieve.mk, which RocksDB reads too.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../rocksieve.mk assignments REGEX "^rocksieve_[A-Z]+ = ")
foreach(assignment IN LISTS assignments)
  string(REGEX MATCH "^(rocksieve_[A-Z]+) = (.*)$" matched "${assignment}")
  string(REPLACE " " ";" ${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
set(rocksieve_SOURCES ${rocksieve_SOURCES} PARENT_SCOPE)
set(rocksieve_HEADERS ${rocksieve_HEADERS} PARENT_SCOPE)
set(rocksieve_COMPILE_FLAGS "-DROCKSIEVE_IN_TREE" PARENT_SCOPE)
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(rocksieve_INCLUDE_PATHS ${root} ${root}/include PARENT_SCOPE)
