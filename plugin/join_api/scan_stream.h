// SPDX-License-Identifier: Apache-2.0
// The rows of a source as batches of Arrow, those that filters let pass.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>
#include <rocksieve/c_arrow.h>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/rows/source.h"
#include "plugin/join_api/join_impl.h"

namespace rocksieve::join {

enum class ScanColumn { kKey, kValue, kJoinKey };
inline constexpr std::string_view kScanColumnNames[] = {"key", "value", "join_key"};

// What it does.
struct ScanPlan {
  std::string name;  // of the rows, for errors
  JoinKeyExpression on;
  KeyInterval interval;
  std::vector<ScanColumn> columns = {ScanColumn::kKey, ScanColumn::kValue};
  // Each says whether a key may be among those of a filter. None: all rows are given.
  std::vector<std::function<bool(std::string_view key)>> filters;
  bool keep_absent = false;  // rows that no filter lets pass, instead of the others
  std::optional<uint64_t> expected_digest;
  uint64_t most_rows = std::numeric_limits<uint64_t>::max();  // that are read
  size_t batch_rows = size_t{1} << 16, batch_bytes = size_t{8} << 20;
};

// As rocksieve_scan_counts_t has them.
struct ScanCounts {
  std::atomic<uint64_t> rows_read = 0, rows_given = 0, digest = 0, rows_estimated = 0;
};

// Thread safety: none, but for the counts.
class ScanStream {
 public:
  // Of the first one of these sources.
  ScanStream(ScanPlan plan, OpenedInput opened, std::shared_ptr<ScanCounts> counts);

  void GiveSchema(ArrowSchema* out) const;
  // A released array at the end. After an error, the same one again.
  rocksdb::Status GiveNext(ArrowArray* out);

  std::string last_error;  // of its C interface

 private:
  struct Batch;

  // Null: the row has no join key.
  bool Keeps(const std::string_view* join_key) const;
  rocksdb::Status Fill(Batch* batch);
  rocksdb::Status Add(const Row& row, const std::string_view* join_key, Batch* batch) const;
  rocksdb::Status End();

  const ScanPlan plan_;
  const OpenedInput opened_;
  const std::shared_ptr<ScanCounts> counts_;
  const std::unique_ptr<Cursor> cursor_;
  bool ended_ = false;
  rocksdb::Status status_;
  std::string extracted_;
  uint64_t digest_ = 0;
};

}  // namespace rocksieve::join
