// SPDX-License-Identifier: Apache-2.0
// Rows of the server as an SST file, to be ingested into a database:
//
//   rocksieve join --op=difference --format=sst --output=missing.sst ...
//   ldb --db=DIR ingest_extern_sst missing.sst        (or DB::IngestExternalFile())
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>

#include "lib/join/rows/sink.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/join/sort/row_spool.h"
#include "support/pending_file.h"

namespace rocksieve::join {

// Gives a finished result its name. What the system says if that fails.
absl::Status Publish(PendingFile* file);

struct SstSinkOptions {
  rocksdb::Options rocksdb;  // table format, compression, filter policy
  // For joins on an expression, which do not give rows in the order of their keys.
  bool sort = false;
  SortOptions sorting;
};

// The file appears under its name only when it is finished. Each key may come once.
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
};

}  // namespace rocksieve::join
