// SPDX-License-Identifier: Apache-2.0
// One side's part in finding which matched keys have different values on the two sides.
//
// Both sides know the same matched keys, in the same order, and of each row a digest of its value.
// Rows whose values differ are changed; the others are equal. The sides take turns:
//
//   row sum, of the server  -> that is all, if it is the client's as well
//   [value estimator        ->] values
//   values                  -> [more parity -> parity ->] changed rows, values; or changed rows,
//                              row sum
//   row sum                 -> that is all; or values
//
// A part "values" has one bit, or a few, of a salted hash of each row's digest, of all rows that
// are not known to be changed: as a sketch of flags at positions (positions.h of lib/sketch), or as
// the flags themselves where that is shorter. The receiver sees at which rows they differ: at half
// of the changed rows, if it is one bit. It says which, so that both sides leave these out of the
// next such part, which it sends itself, with another salt. So each changed row is named once, and
// takes part in two such differences on the average. When few are left, more bits at once save
// turns.
//
// The end is proven: a side that expects no more changed rows says the sum of the rows that are
// left, keys and digests of 64 bits, and the other one goes on unless its own is the same. The
// server says the last sum; if the client says nothing more, it agrees.
//
// The parts are described in docs/protocol.md. Whatever arrives, nothing outside of it is read, and
// no more memory is taken than a few times the message and the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>

#include "lib/hash/key_hash128.h"
#include "lib/hash/mix.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/matching/planner.h"
#include "lib/join/matching/sketch_step.h"
#include "lib/sketch/pinsketch/positions.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

// Of a row, by the hash of its key and the digest of its value.
inline KeyHash128 HashOfRow(const KeyHash128& key, uint64_t digest) {
  return {key.low ^ Mix64(digest), key.high};
}

class ValueComparison {
 public:
  using State = MatchingState;

  // `matched` by rising ordinal, the same keys on both sides; `digests` by ordinal, whose memory is
  // among the options' kept_bytes. `differ`: both
  // sides know that some rows are changed; else the server begins with its sum.
  ValueComparison(Candidates matched, std::vector<uint64_t> digests, const MatchingOptions& options,
                  bool differ);
  ValueComparison(const ValueComparison&) = delete;
  ValueComparison& operator=(const ValueComparison&) = delete;

  State state() const { return state_; }
  // The server has said its last word if the client agrees.
  bool said_sum() const { return state_ == State::kTheirTurn && expected_ == Expected::kAfterSum; }

  // As those of Matching.
  absl::Status NextStep(std::string* step);
  absl::Status Receive(std::string_view step);

  // By rising ordinal. REQUIRES: the comparison is done; nothing more of this is needed.
  Candidates TakeEqual() { return ByKeys(range_.candidates.Take()); }
  Candidates TakeChanged();

  const MatchingCounts& counts() const { return range_.counts; }

 private:
  // What the next part is about that the other side sends.
  enum class Expected { kRowSum, kFirst, kValues, kAnswer, kParity, kRest, kAfterSum };
  // What this side says next.
  enum class Turn { kRowSum, kEstimator, kValues, kAnswer, kParity };

  // From hashes of keys to those of rows, and back.
  Candidates ByRows(Candidates keys) const;
  Candidates ByKeys(Candidates rows) const { return ByRows(std::move(rows)); }
  uint64_t KeptBytes() const;
  size_t rows() const { return range_.candidates.size(); }
  Turn FirstTurn() const;
  SetSum SumOfRows() const;
  // Of each row, under the salt of a part, and of its first bits as flags.
  uint64_t HashAt(size_t row) const;
  std::vector<uint8_t> OwnFlags() const;
  int BitsOfNextValues() const;
  // From how many changed rows the last values have named, of those that could be decoded.
  void EstimateLeft(double named, double known_share);

  void SendSum(std::string* step);
  void SendEstimator(std::string* step);
  absl::Status SendValues(std::string* step);
  absl::Status SendAnswer(std::string* step);

  absl::Status ReceivePart(Part part, std::string_view body);
  absl::Status ReceiveSum(std::string_view body);
  absl::Status ReceiveEstimator(std::string_view body);
  absl::Status ReceiveValues(std::string_view body);
  absl::Status ReceiveChanged(std::string_view body);
  // The flags in which the sides differ, of those that the other side sent; and the share of the
  // flags that is known.
  std::vector<uint8_t> Differences(double* known_share) const;
  // Takes the flagged rows for changed.
  void TakeOut(std::span<const uint8_t> changed);
  absl::Status Contradiction();

  const SetSummer summer_;
  const std::vector<uint64_t> digests_;
  MatchingRange range_;  // whose candidates are the rows that are not known to be changed, by rows
  Candidates changed_;   // by rows
  State state_;
  Expected expected_;
  Turn turn_;
  bool turn_goes_on_ = false;  // the other side's, after the part that was read
  bool contradicted_ = false;  // the server: the client will hear of it by the sum
  // Of the values that are under way, whichever side sent them.
  SketchLayer layer_;
  pinsketch::PositionPlan plan_;
  bool is_sketch_ = false;
  uint64_t salt_ = 0;
  int bits_ = 0;
  std::vector<uint8_t>
      flags_;           // this side's, by row and bit; of flags as they are, the differences
  std::string parity_;  // asked for, to be sent
  int values_ = 0;      // such parts so far
  // Changed rows that are not named yet, as far as known; the same at first.
  double left_, left_error_ = 0, at_first_ = 0;
  double at_least_ = 0.5;  // are left, where the sides are known to differ: doubles each time
};

}  // namespace rocksieve::join
