// SPDX-License-Identifier: Apache-2.0
// Why a database cannot be looked at, for people: what is in the way, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>

namespace rocksieve {

// What can be seen before RocksDB is asked: no directory, no database in it, no permission.
rocksdb::Status CheckIsDatabase(const std::string& directory);

// Makes a sentence of what RocksDB said.
rocksdb::Status ExplainOpenError(const std::string& directory, const rocksdb::Status& status);

rocksdb::Status NoSuchColumnFamily(const std::string& directory, const std::string& name,
                                   const std::vector<std::string>& existing);

// What a status says, without its kind.
std::string MessageOf(const rocksdb::Status& status);

}  // namespace rocksieve
