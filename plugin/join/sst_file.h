// SPDX-License-Identifier: Apache-2.0
// One SST file as what a join reads, and as what it gives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "plugin/join/rocksdb_source.h"
#include "support/files.h"

namespace rocksieve::join {

// The rows of one SST file: what a database would show that has only this file.
class SstSource final : public Source {
 public:
  // `options` must have the merge operator, if there are merges in the file. Refuses what it could
  // not show rightly: other orders than bytewise; range deletions, which RocksDB's reader of single
  // files leaves out; and values in blob files, for which it gives their places. Reads the file
  // once to look for these: before RocksDB 9.2 only if table_entries.h knows its format.
  static absl::StatusOr<std::unique_ptr<SstSource>> Open(
      const std::string& path, const rocksdb::Options& options = rocksdb::Options(),
      RowValues values = RowValues::kPlain);

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  // With older versions of the same key, if the file has any.
  uint64_t EstimateKeys() override { return entries_; }

 private:
  SstSource(std::string path, const rocksdb::Options& options, RowValues values);
  absl::Status Check();
  absl::Status CheckForBlobs();

  const std::string path_;
  const RowValues values_;
  rocksdb::Options options_;
  rocksdb::SstFileReader reader_;
  uint64_t entries_ = 0;
};

// Gives a finished result its name. What the system says if that fails.
absl::Status Publish(PendingFile* file);

struct SstSinkOptions {
  rocksdb::Options rocksdb;  // table format, compression, filter policy
  // For joins on an expression, which do not give rows in the order of their keys.
  bool sort = false;
  SortOptions sorting;
};

// Rows of the server as an SST file, to be ingested into a database:
//
//   rocksieve join --op=difference --format=sst --output=missing.sst ...
//   ldb --db=DIR ingest_extern_sst missing.sst        (or DB::IngestExternalFile())
//
// The file appears under its name only when it is finished. Of rows with the same key it has the
// first: servers may share keys.
class SstSink final : public Sink {
 public:
  static absl::StatusOr<std::unique_ptr<SstSink>> Open(const std::string& path,
                                                       const SstSinkOptions& options = {});
  ~SstSink() override;

  // FailedPrecondition for a row of the client, which has it already.
  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override;
  absl::Status Discard() override { return pending_.Clear(); }

  // After the join. RocksDB has no SST files without rows: if there are none, there is no file.
  absl::Status Finish();
  uint64_t rows() const { return rows_; }

 private:
  SstSink(std::unique_ptr<PendingFile> file, const SstSinkOptions& options);
  absl::Status Write(const Row& row);

  const std::string path_;
  const SstSinkOptions options_;
  RowSpool pending_;
  RowSorter sorter_;
  const std::unique_ptr<PendingFile> file_;
  rocksdb::SstFileWriter writer_;
  uint64_t rows_ = 0;
  std::string last_key_;  // of the rows_
};

}  // namespace rocksieve::join
