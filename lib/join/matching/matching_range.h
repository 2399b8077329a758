// SPDX-License-Identifier: Apache-2.0
// What all steps of a Matching share: a side's candidates in the range, what it knows of the other
// side's, and the memory that both take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/matching/candidates.h"
#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::join {

class FilterMaker;

struct MatchingOptions {
  // Of the range and attempt, as that of the candidates; the same on both sides.
  uint64_t salt = 0;
  uint32_t attempt = 0;    // later ones take longer hashes, so that hardly any comes twice
  bool is_client = false;  // one side is, the other is the server
  bool begins = false;     // one of the two
  double their_count = 0;  // keys of the other side
  bool their_count_is_exact = false;
  double common = 0;        // matched keys, as far as known
  double common_error = 0;  // its standard error
  PlannerOptions planner;
  uint64_t most_list_entries = uint64_t{1} << 24;  // that a message may have
  uint64_t most_message_bytes = UINT64_MAX;        // more of keys than that are not even collected
  uint64_t longest_key_bytes = UINT64_MAX;         // of this side: longer ones are no candidates
  FilterMaker* filters = nullptr;  // if others need the same ones; must outlive the Matching
  // What the Matching keeps, the candidates among it, and what each step needs is taken from this
  // account first. Null: no limit.
  MemoryAccount* memory = nullptr;
  uint64_t kept_bytes =
      0;  // beside all that, by whoever made the Matching, for as long as it lasts
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
  // The other side's candidates, as it says: no more than it had. Else the reader fails.
  uint64_t ReadTheirCandidates(ByteReader* in) const {
    return in->Varint(static_cast<uint64_t>(options.their_count));
  }
  void Append(Part part, std::string_view body, std::string* step);

  const MatchingOptions options;
  CandidateSet candidates;
  // Positions of those that were taken out because of a sketch, ascending: not matched, unless the
  // end puts them back.
  PageVector<uint32_t> deferred;
  double their_count, common, common_error;
  Cost spent;  // so far, as this side sees it; for the planner
  bool their_count_is_exact;
  uint32_t parts = 0;  // so far, of both sides
  MatchingCounts counts;
  MemoryHold memory;
};

}  // namespace rocksieve::join
