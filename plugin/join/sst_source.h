// SPDX-License-Identifier: Apache-2.0
// The rows of one SST file, for a join: what a database would show that has only this file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "lib/join/rows/source.h"
#include "plugin/join/rocksdb_source.h"

namespace rocksieve::join {

class SstSource final : public Source {
 public:
  // `options` must have the merge operator, if there are merges in the file. Refuses what it could
  // not show rightly: other orders than bytewise, and range deletions, which RocksDB's reader of
  // single files leaves out. Values in blob files are not looked up: the file has only their
  // places.
  static absl::StatusOr<std::unique_ptr<SstSource>> Open(
      const std::string& path, const rocksdb::Options& options = rocksdb::Options(),
      RowValues values = RowValues::kPlain);

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  // With older versions of the same key, if the file has any.
  uint64_t EstimateKeys() override { return entries_; }

 private:
  SstSource(std::string path, const rocksdb::Options& options, RowValues values);
  absl::Status Check();

  const std::string path_;
  const RowValues values_;
  rocksdb::Options options_;
  rocksdb::SstFileReader reader_;
  uint64_t entries_ = 0;
};

}  // namespace rocksieve::join
