// SPDX-License-Identifier: Apache-2.0
// The rows of another source by their join keys.
//
// A row's key is the join key, its value the whole row (packed_row.h). Many rows may have the same
// one. Those with a NULL key are no part of any interval, but are there: ScanAbsent().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <absl/status/statusor.h>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"

namespace rocksieve::join {

// Thread safety: any thread may scan it, each with cursors of its own.
class JoinKeySource final : public Source {
 public:
  // Reads all of `rows`, which is not needed afterwards, and sorts them anew.
  static absl::StatusOr<std::unique_ptr<JoinKeySource>> Sort(Source* rows,
                                                             const JoinKeyExpression& expression,
                                                             const SortOptions& options = {});

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  std::unique_ptr<Cursor> ScanAbsent() override;
  uint64_t EstimateKeys() override { return keys_; }

 private:
  JoinKeySource(std::unique_ptr<Source> sorted, bool any_absent);

  const std::unique_ptr<Source> sorted_;
  const bool any_absent_;
  const uint64_t keys_;
};

// The same by the first bytes of their keys, which come in order already: nothing needs to be
// sorted, and the join can begin at once. Keys that are too short are NULL.
class KeyPrefixSource final : public Source {
 public:
  KeyPrefixSource(std::unique_ptr<Source> rows, size_t prefix_bytes)
      : rows_(std::move(rows)), prefix_bytes_(prefix_bytes) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  std::unique_ptr<Cursor> ScanAbsent() override;
  // Of rows, which may be more than there are prefixes.
  uint64_t EstimateKeys() override { return rows_->EstimateKeys(); }

 private:
  const std::unique_ptr<Source> rows_;
  const size_t prefix_bytes_;
};

}  // namespace rocksieve::join
