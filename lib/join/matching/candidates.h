// SPDX-License-Identifier: Apache-2.0
// A key of a range that may still be common to both sides, by its hash.
//
// Keys are hashed once per range and attempt, to 128 bits under a salt that both sides know; each
// message then hashes these anew under a salt of its own, so that an accident in one message does
// not repeat itself in the next.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash128.h"
#include "lib/hash/mix.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::join {

struct Candidate {
  KeyHash128 hash;
  uint32_t ordinal;  // of the key among the side's distinct keys in the range
};

using Candidates = PageVector<Candidate>;  // by rising ordinal

// Candidates by short hashes, sorted and Golomb-coded:
//
//   u8 bits | values below entries * 2^bits, as in lib/format/bit_coder.h | u64 sum of Mix64(salt ^
//   value)
//
// The sum is there because a value that changes on the way is a match that both sides lose, which
// their sums of the matched keys do not see. A key that is not in the list has the value of one
// that is with a chance of 2^-bits.
struct ShortHashes {
  std::vector<uint64_t> values;  // ascending
  uint64_t salt = 0, universe = 0;

  uint64_t ValueOf(const Candidate& candidate) const {
    return MultiplyHigh64(HashForStep(candidate.hash, salt), universe);
  }
};

struct ShortHash {
  uint64_t value;
  uint32_t candidate;  // by index
  auto operator<=>(const ShortHash&) const = default;
};

// Of all candidates under the salt and universe of the list, by rising value; equal values in any
// order.
PageVector<ShortHash> SortedShortHashes(const Candidates& candidates, const ShortHashes& list);

// *order: of the candidates in the list, by index.
void WriteHashList(const Candidates& candidates, int bits, uint64_t salt, ByteWriter* out,
                   PageVector<uint32_t>* order);

// What reading a list takes, by what it says of itself; little if it is damaged, or says more than
// it has room for.
uint64_t HashListMemoryBytes(std::string_view list);

// False, with the reader failed, if it is damaged or has more than most_entries.
bool ReadHashList(ByteReader* in, uint64_t most_entries, uint64_t salt, ShortHashes* list);

// A side's candidates in a range, some of which were taken out: each keeps its position, so that it
// can be put back without any sorting, until those that are out are forgotten.

// 1 byte per candidate beside them, from the first that is taken out.
class CandidateSet {
 public:
  explicit CandidateSet(Candidates candidates) : all_(std::move(candidates)), size_(all_.size()) {}

  // Of those that are in.
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Visits them by rising ordinal.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < all_.size(); i++) {
      if (out_.empty() || out_[i] == 0) visit(all_[i]);
    }
  }
  // By rising ordinal.
  PageVector<uint64_t> Hashes(uint64_t salt) const;

  // REQUIRES: none is out.
  const Candidates& all() const { return all_; }

  // A flag for each one that is in: takes out those whose flag is not set. *positions: of these,
  // ascending.
  void TakeOut(std::span<const uint8_t> keep, PageVector<uint32_t>* positions = nullptr);
  void PutBack(uint32_t position) {
    out_[position] = 0;
    size_++;
  }
  // In or out, but not forgotten.
  const Candidate& At(uint32_t position) const { return all_[position]; }

  // Forgets those that are out; positions change.
  void ForgetOut();
  // The same after TakeOut(keep).
  void Keep(std::span<const uint8_t> keep);
  // Forgets all.
  void Clear();
  // Those that are in. Leaves none.
  Candidates Take();

  uint64_t MemoryBytes() const { return all_.capacity() * sizeof(Candidate) + out_.capacity(); }

 private:
  Candidates all_;
  PageVector<uint8_t> out_;  // flags; empty if none is out
  size_t size_;
};

// How many keys of a range both sides have, before anything else is known.

// Counters of a DifferenceEstimator that are worth their bytes for so many keys at each side; 0 if
// none are: one side is so much larger than the other that the estimate would say nothing.
size_t CountersFor(uint64_t mine, uint64_t theirs);

// The estimator of one side's keys, to be sent. `salt` is the range's.
std::string EncodeEstimator(const Candidates& candidates, size_t counters, uint64_t salt);

// From what the other side sent, and its number of keys.
absl::Status EstimateCommon(std::string_view estimator, uint64_t their_count,
                            const Candidates& candidates, uint64_t salt, double* common);

// Of the counters that an encoded estimator has; 0 if it is damaged.
size_t CountersIn(std::string_view estimator);

// The standard error of such an estimate; without counters half of what the smaller side has was
// but a guess.
double CommonError(size_t counters, double common, double mine, double theirs);

}  // namespace rocksieve::join
