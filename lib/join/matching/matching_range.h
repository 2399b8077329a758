// SPDX-License-Identifier: Apache-2.0
// What all steps of a Matching share: a side's candidates in the range, what it knows of the other
// side's, and the memory that both take.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <rocksieve/filter.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash128.h"
#include "lib/hash/mix.h"
#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::join {

// A key of a range that may still be common to both sides, by its hash.
//
// Keys are hashed once per range and attempt, to 128 bits under a salt that both sides know; each
// message then hashes these anew under a salt of its own, so that an accident in one message does
// not repeat itself in the next.

struct Candidate {
  KeyHash128 hash;
  uint32_t ordinal;  // of the key among the side's distinct keys in the range
};

using Candidates = PageVector<Candidate>;  // by rising ordinal

// Candidates by short hashes, sorted and Golomb-coded, and a sum of them (docs/protocol.md): what
// changes on the way is a match that both sides lose, which their sums of the matched keys do not
// see. A key that is not in the list has the value of one that is with a chance of 2^-bits.
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

// Makes a filter that a side sends: of the hashes of the candidates in the message with this salt.
// `spec` becomes that of the filter, which may be a little larger or smaller than was asked for.
// `built`: it was not there before.
using FilterMaker = std::function<std::shared_ptr<const FilterBlock>(
    FilterSpec* spec, const Candidates& candidates, uint64_t message_salt, bool* built)>;

struct MatchingOptions {
  // Of the range and attempt, as that of the candidates; the same on both sides.
  uint64_t salt = 0;
  uint32_t attempt = 0;    // later ones take longer hashes, so that hardly any comes twice
  bool is_client = false;  // one side is, the other is the server
  bool begins = false;     // one of the two
  double their_count = 0;  // keys of the other side
  double common = 0;        // matched keys, as far as known
  double common_error = 0;  // its standard error
  PlannerOptions planner;
  uint64_t most_message_bytes = UINT64_MAX;        // more of keys than that are not even collected
  uint64_t longest_key_bytes = UINT64_MAX;         // of this side: longer ones are no candidates
  FilterMaker filters;                             // if others need the same ones; else empty
  // What the Matching keeps, the candidates among it, and what each step needs is taken from this
  // account first. Null: no limit.
  MemoryAccount* memory = nullptr;
  uint64_t kept_bytes =
      0;  // beside all that, by whoever made the Matching, for as long as it lasts
};

// Of a Matching or a ValueComparison.
enum class MatchingState {
  kMyTurn,
  kTheirTurn,
  kReconciled,    // all is known; of values, only the client is told
  kContradicted,  // the client: both sides' sums differ, or they do not speak of the same rows
};

// For statistics.
struct MatchingCounts {
  uint64_t filters_sent = 0, filters_received = 0;
  uint64_t filters_built = 0;      // of those that were sent
  uint64_t candidates_pruned = 0;  // by filters received
  // Of the other side, when it last told how many it had left; nothing if it never did.
  std::optional<uint64_t> their_candidates;
  uint64_t turns = 0;  // of both sides
};

// For the account.
template <typename Vector>
uint64_t VectorBytes(const Vector& vector) {
  return vector.capacity() * sizeof(typename Vector::value_type);
}

struct MatchingRange {
  MatchingRange(Candidates own_candidates, const MatchingOptions& the_options);

  // Takes from the account what the range and a step keep from one step to the next.
  absl::Status Hold(uint64_t step_bytes);
  // The same with what work on a part needs for each candidate: hashes, flags, tables.
  absl::Status HoldForWork(uint64_t step_bytes);

  // As the planner sees it.
  RangeEstimate estimate() const;
  // Of short hashes, beyond those that are right for a first attempt.
  int MoreHashBits() const { return 8 * static_cast<int>(std::min(options.attempt, 3u)); }
  // Of the part that is made or read.
  uint64_t PartSalt() const { return SplitMix64(options.salt, parts); }
  // Of the other side, at first.
  uint64_t TheirKeys() const { return static_cast<uint64_t>(options.their_count); }
  // The other side's candidates, as it says: no more than it had. Else the reader fails.
  uint64_t ReadTheirCandidates(ByteReader* in) const { return in->Varint(TheirKeys()); }
  void Append(Part part, std::string_view body, std::string* step);

  const MatchingOptions options;
  CandidateSet candidates;
  // Positions of those that were taken out because of a sketch, ascending: not matched, unless the
  // end puts them back.
  PageVector<uint32_t> deferred;
  double their_count, common, common_error;
  Cost spent;  // so far, as this side sees it; for the planner
  bool their_count_is_exact = true;
  uint32_t parts = 0;  // so far, of both sides
  MatchingCounts counts;
  MemoryHold memory;
};

// The first step of a range, and the only one that may be repeated: a side sends a filter of its
// candidates, and the other one drops those of its own that do not pass.

// Always makes a new one.
std::shared_ptr<const FilterBlock> MakeFilter(const FilterSpec& spec, const Candidates& candidates,
                                              uint64_t message_salt);

class FilterStep {
 public:
  // `range` must outlive it.
  explicit FilterStep(MatchingRange* range) : range_(range) {}
  uint64_t KeptBytes() const { return 0; }

  // What this side should send now: a filter, an ending, or both.
  PlannedStep Planned() const;
  void Send(const PlannedStep& planned, std::string* step);
  absl::Status Receive(std::string_view body);

 private:
  MatchingRange* const range_;
};

}  // namespace rocksieve::join
