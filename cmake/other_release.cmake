# SPDX-License-Identifier: Apache-2.0
# With ROCKSIEVE_ROCKSDB_INCLUDE: the plugin for a RocksDB that is not installed, of which only the headers
# are at hand, and nothing else. RocksDB's symbols are taken from the process, so no library is needed.
set(version_header ${ROCKSIEVE_ROCKSDB_INCLUDE}/rocksdb/version.h)
if(NOT EXISTS ${version_header})
  message(FATAL_ERROR "ROCKSIEVE_ROCKSDB_INCLUDE: ${version_header} is missing; name the directory "
                      "include of RocksDB's sources")
endif()
file(READ ${version_header} version_text)
foreach(part MAJOR MINOR PATCH)
  string(REGEX MATCH "#define ROCKSDB_${part} ([0-9]+)" matched "${version_text}")
  set(rocksdb_${part} ${CMAKE_MATCH_1})
endforeach()
set(RocksDB_VERSION ${rocksdb_MAJOR}.${rocksdb_MINOR}.${rocksdb_PATCH})
set(rocksdb_series ${rocksdb_MAJOR}.${rocksdb_MINOR})
add_library(RocksDB::rocksdb-shared INTERFACE IMPORTED)
target_include_directories(RocksDB::rocksdb-shared INTERFACE ${ROCKSIEVE_ROCKSDB_INCLUDE})
add_subdirectory(lib EXCLUDE_FROM_ALL)
add_subdirectory(plugin)
install(TARGETS rocksieve_loader rocksieve_plugin)
