// SPDX-License-Identifier: Apache-2.0
// The rows of another source by their join keys.
//
// A row's key is the join key, its value the whole row (row_batch.h). Many rows may have the same
// one. Those with a NULL key are no part of any interval, but are there: ScanAbsent().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <absl/status/status.h>
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

// Rows joined on all of them: two rows match if both their keys and their values are equal.
//
// The join key of a row, whose order is that of the keys, bytewise:
//
//   key, with each zero byte as 00 FF | 00 01 | XXH3-64 of the value, the high byte first
//
// So a row whose value differs stands on both sides, next to each other. That two values of a key
// differ and have the same hash is a matter of 2^-64 for values that nobody chose to that end; XXH3
// is no cryptographic hash (https://github.com/Cyan4973/xxHash, version 0.8 of its specification).

inline constexpr size_t kWholeRowDigestBytes = 8;  // at the end of a join key

// The last bytes of a join key. REQUIRES: there are as many.
inline std::string_view DigestBytesOf(std::string_view join_key) {
  return join_key.substr(join_key.size() - kWholeRowDigestBytes);
}

// Both replace *join_key; the other one takes the hash of the value instead of it.
void WholeRowJoinKey(const Row& row, std::string* join_key);
void WholeRowJoinKey(std::string_view key, uint64_t value_hash, std::string* join_key);
// REQUIRES: a join key's last kWholeRowDigestBytes.
uint64_t ValueHashOf(std::string_view digest);

// Parts a join key into the digest and what is left, which stands for the key alone and is in the
// same order. False if these are no bytes of a join key.
bool TakeDigest(std::string_view* join_key, uint64_t* digest);

// The key of the row. False if these are no bytes of a join key.
bool KeyOfWholeRow(std::string_view join_key, std::string* key);

// The keys among which those of all rows are whose join keys lie in the interval. Takes any bytes.
KeyInterval KeysOfWholeRows(const KeyInterval& join_keys);

// The join keys of all rows with that key; with keys in the interval.
KeyInterval WholeRowsOfKey(std::string_view key);
KeyInterval WholeRowsOfKeys(const KeyInterval& keys);

// Rows by these join keys, each with its value; nothing needs to be sorted. REQUIRES: no two rows
// have the same key.
class WholeRowSource final : public Source {
 public:
  enum class Values { kGiven, kLeftOut };

  WholeRowSource(std::unique_ptr<Source> rows, Values values)
      : rows_(std::move(rows)), values_(values) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  uint64_t EstimateKeys() override { return rows_->EstimateKeys(); }

 private:
  const std::unique_ptr<Source> rows_;
  const Values values_;
};

// Gives on rows with their own keys.
class UnpackingResultSink final : public ResultSink {
 public:
  // How the rows of a side come.
  enum class Form {
    kRow,     // by their keys
    kPacked,  // by a join key, packed (lib/join/rows/row_batch.h)
    kByRow,   // by all of the row
  };

  // `sink` must outlive it.
  UnpackingResultSink(ResultSink* sink, Form local, Form remote)
      : sink_(sink), local_(local), remote_(remote) {}

  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return sink_->Commit(); }
  absl::Status Discard() override { return sink_->Discard(); }
  absl::Status Restart() override { return sink_->Restart(); }

 private:
  ResultSink* const sink_;
  const Form local_, remote_;
  std::string key_;
};

}  // namespace rocksieve::join
