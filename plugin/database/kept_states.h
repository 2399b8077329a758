// SPDX-License-Identifier: Apache-2.0
// States of a database's column families, kept in a directory so that what has changed since can be
// found: hard links of table files, which so take place on the disk until they are dropped, and
// copies of the rest.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <rocksdb/rate_limiter.h>
#include <rocksdb/status.h>

#include "plugin/database/read_only_snapshot.h"

namespace rocksieve {

// Thread-safe, also between processes.
class KeptStates {
 public:
  using RateLimiterPtr = std::shared_ptr<rocksdb::RateLimiter>;

  // The directory is made when it is needed, on the database's file system. Of each column family,
  // the newest so many are kept.
  explicit KeptStates(std::string directory, size_t most_kept = 4)
      : directory_(std::move(directory)), most_kept_(most_kept) {}

  // The present state, as ReadOnlySnapshot::Open() has it, and under which name it is kept: one
  // that cannot be guessed.
  rocksdb::Status OpenAndKeep(const std::string& database, const std::string& column_family,
                              const RateLimiterPtr& rate_limiter,
                              std::unique_ptr<ReadOnlySnapshot>* state, std::string* name) const;

  // NotFound if there is no such state, or it is damaged. Takes any name.
  rocksdb::Status Open(const std::string& name, const std::string& column_family,
                       const RateLimiterPtr& rate_limiter,
                       std::unique_ptr<ReadOnlySnapshot>* state) const;

  // Takes any name.
  void Drop(const std::string& name, const std::string& column_family) const;

 private:
  std::string FolderOf(const std::string& column_family) const;
  void DropOld(const std::string& column_family) const;

  const std::string directory_;
  const size_t most_kept_;
};

}  // namespace rocksieve
