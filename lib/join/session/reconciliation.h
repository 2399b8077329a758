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

#include "lib/join/matching/matching.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_keys.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

// What a side knows of an opened range: as Open and Facts say it, and of its own keys.
struct OpenedRange {
  uint64_t session_salt = 0, range = 0;
  uint32_t attempt = 0;
  bool is_client = false;  // this side is, or the server
  bool begins = false;     // this side does, or the other one
  SetSum theirs;           // of all keys of the other side
  Pruning pruning;         // of the other side's keys, by this side's existing SST filters
  bool prunes = false;     // this side's keys were, by those of the other side
  // Keys that are not there and pass: the filters of this side, and of the other one.
  double own_pass_rate = 1, their_pass_rate = 1;
  size_t counters = 0;           // of the estimator that was sent; 0 if none was
  std::optional<double> common;  // keys of both sides, if they were estimated
  uint64_t most_message_bytes = UINT64_MAX;
  MemoryAccount* memory = nullptr;
  FilterMaker* filters = nullptr;

  // Keys of the other side that may be matched.
  uint64_t their_candidates() const { return pruning.filters ? pruning.candidates : theirs.count; }
};

// The same on both sides, but for what each knows of its own keys, and wants. `wanted`: of the
// session.
MatchingOptions OptionsFor(const OpenedRange& range, const RangeKeys& keys,
                           const PlannerOptions& wanted);

// A Matching, a ValueComparison, or one after the other, as a machine like each of them.
class Reconciliation {
 public:
  using State = Matching::State;
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
  SourceKeyReader reader_;
  std::vector<uint64_t> digests_;
  std::unique_ptr<Matching> matching_;
  std::unique_ptr<ValueComparison> values_;
  MatchingCounts counts_;  // of what is done
  std::optional<Part> ending_;
};

}  // namespace rocksieve::join
