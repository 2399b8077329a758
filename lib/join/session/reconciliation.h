// SPDX-License-Identifier: Apache-2.0
// How a side begins to reconcile a range that both sides have opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/endings.h"
#include "lib/join/matching/matching.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

// The keys that one side has in a range: scanned, and gone through again.

struct RangeKeys {
  Candidates candidates;  // all distinct keys but those that existing SST filters deny
  SetSum sum;             // of all distinct keys
  // Of whole rows that are joined on their keys: of all rows, and the digests of all, by ordinal.
  SetSum row_sum;
  std::vector<uint64_t> digests;
  KeyBits bits;                    // of all distinct keys, by samples of the first ones
  uint64_t longest_key_bytes = 0;  // of all distinct keys
  // The first key that did not fit under the limit, if there was one: the range ends there.
  std::optional<std::string> next_key;
  // Of keys that were held against filters: a key that should have passed did not.
  bool uncovered = false;

  uint64_t MemoryBytes() const { return VectorBytes(candidates) + VectorBytes(digests); }
};

// How a scan uses existing filters (existing_filters.h).
struct ExistingFilterUse {
  const ExistingFilterSet* set = nullptr;
  // Keys that do not pass are no candidates, but are in the sum. Else all should pass.
  bool prunes = false;
};

// Scans an interval up to `most_keys` candidates, or some times as many keys that are none. Memory:
// 24 bytes per candidate, twice that while their number doubles; `memory` holds them, if it is not
// null, and what it held before is given back. `whole_rows`: the rows' join keys are those of whole
// rows, whose keys are scanned, and their digests: 8 bytes more.
absl::Status ScanKeys(Source* source, const KeyInterval& interval, uint64_t salt,
                      uint64_t most_keys, RangeKeys* keys, const ExistingFilterUse& existing = {},
                      MemoryHold* memory = nullptr, bool whole_rows = false);

// Reads keys of an interval again, by the ordinals that a scan gave them. `source` must outlive it.
KeyReader ReaderOf(Source* source, KeyInterval interval, bool whole_rows = false);

// The keys of a side in a range that the other side has as well.
struct MatchedKeys {
  bool all = false;
  Candidates some;  // else these, by rising ordinal
  // Of compared rows: `some` are equal, and these are of keys that both sides have, with other
  // values.
  Candidates changed = {};

  uint64_t MemoryBytes() const { return VectorBytes(some) + VectorBytes(changed); }
};

// Asked for keys by rising ordinals.
class MatchedSweep {
 public:
  // `keys` must outlive it, and stay as they are.
  explicit MatchedSweep(const MatchedKeys& keys) : keys_(keys) {}
  bool IsMatched(uint32_t ordinal) {
    return keys_.all || IsNextOf(keys_.some, ordinal, &next_some_);
  }
  bool IsChanged(uint32_t ordinal) { return IsNextOf(keys_.changed, ordinal, &next_changed_); }

 private:
  static bool IsNextOf(const Candidates& keys, uint32_t ordinal, size_t* next) {
    while (*next < keys.size() && keys[*next].ordinal < ordinal) ++*next;
    return *next < keys.size() && keys[*next].ordinal == ordinal;
  }

  const MatchedKeys& keys_;
  size_t next_some_ = 0, next_changed_ = 0;
};

// Goes through the rows of an interval and counts the distinct keys.
class OrdinalCursor {
 public:
  OrdinalCursor(Source* source, const KeyInterval& interval) : cursor_(source->Scan(interval)) {}

  // False at the end, and after an error.
  bool Next(Row* row) {
    if (!cursor_->Next(row)) return false;
    if (keys_ == 0 || row->key != last_key_) {
      last_key_ = row->key;
      keys_++;
    }
    return true;
  }
  // Of the last row's key.
  uint32_t ordinal() const { return keys_ - 1; }
  absl::Status status() const { return cursor_->status(); }

 private:
  const std::unique_ptr<Cursor> cursor_;
  std::string last_key_;
  uint32_t keys_ = 0;
};

// What a side knows of an opened range: as Open and Facts say it, and of its own keys.
struct OpenedRange {
  MatchingOptions options;  // but for what OptionsFor() adds; the planner as the session has it
  SetSum theirs;            // of all keys of the other side
  Pruning pruning;          // of the other side's keys, by this side's existing SST filters
  bool prunes = false;      // this side's keys were, by those of the other side
  // Keys that are not there and pass: the filters of this side, and of the other one.
  double own_pass_rate = 1, their_pass_rate = 1;
  size_t counters = 0;           // of the estimator that was sent; 0 if none was
  std::optional<double> common;  // keys of both sides, if they were estimated

  // Keys of the other side that may be matched.
  uint64_t their_candidates() const { return pruning.filters ? pruning.candidates : theirs.count; }
};

// The same on both sides, but for what each knows of its own keys, and wants.
MatchingOptions OptionsFor(const OpenedRange& range, const RangeKeys& keys);

// A Matching, a ValueComparison, or one after the other, as a machine like each of them.
class Reconciliation {
 public:
  using State = MatchingState;
  enum class Of { kKeys, kKeysThenValues, kValuesOfSameKeys };

  // Takes candidates and digests from the keys of the interval. `source` must outlive it. Of
  // kKeysThenValues, the server lets the client begin, which may leave that to it: YieldStep().
  Reconciliation(Source* source, const KeyInterval& interval, RangeKeys* keys,
                 const MatchingOptions& options, Of of);
  Reconciliation(const Reconciliation&) = delete;
  Reconciliation& operator=(const Reconciliation&) = delete;

  // Of a comparison of values, the server is never told that the range is reconciled, but asked for
  // rows.
  State state() const;
  absl::Status NextStep(std::string* step);
  // The client's first step, if the other side shall begin, by what this one has estimated.
  // REQUIRES: kKeysThenValues, and this side does not begin.
  static std::string YieldStep(double common, size_t counters);
  absl::Status Receive(std::string_view step);
  // The server, of a comparison of values: the client may ask for rows.
  bool may_be_fetched() const { return values_ != nullptr && values_->said_sum(); }
  // The values are compared: the keys were reconciled, or the same.
  bool compares_values() const { return values_ != nullptr; }

  // When nothing more of this is needed. REQUIRES: reconciled, or may_be_fetched().
  MatchedKeys TakeMatched();
  MatchingCounts counts() const;
  // How the keys were reconciled; nothing if there was no need.
  std::optional<Part> ending() const { return ending_; }

 private:
  // From keys to values.
  void Advance();
  // Begins, as the client wants it.
  absl::Status BeginAsTold(std::string_view step);

  MatchingOptions options_;
  const Of of_;
  bool may_be_told_ = false;  // the server, before anything else is said
  const KeyReader reader_;
  std::vector<uint64_t> digests_;
  std::unique_ptr<Matching> matching_;
  std::unique_ptr<ValueComparison> values_;
  MatchingCounts counts_;  // of what is done
  std::optional<Part> ending_;
};

}  // namespace rocksieve::join
