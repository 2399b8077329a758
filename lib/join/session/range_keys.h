// The keys that one side has in a range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <absl/status/status.h>

#include "lib/join/existing/existing_filter_set.h"
#include "lib/join/matching/candidate.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

struct RangeKeys {
  Candidates candidates;  // all distinct keys but those that existing SST filters deny
  SetSum sum;             // of all distinct keys
  // What a key takes on the wire, front-coded and compressed, by a sample of the first ones.
  double bits_per_key = 0;
  // The same if only one key in kSparse is shipped.
  double sparse_bits_per_key = 0;
  uint64_t longest_key_bytes = 0;  // of all distinct keys
  // The first key that did not fit under the limit, if there was one: the range ends there.
  std::optional<std::string> next_key;
  // Of keys that were held against filters: a key that should have passed did not.
  bool uncovered = false;
};

// How a scan uses existing filters (existing_filter_exchange.h).
struct ExistingFilterUse {
  const ExistingFilterSet* set = nullptr;
  // Keys that do not pass are no candidates, but are in the sum. Else all should pass.
  bool prunes = false;
};

// Scans an interval up to `most_keys` candidates, or some times as many keys that are none. Memory:
// 24 bytes per candidate, twice that while their number doubles; `memory` holds them, if it is not
// null, and what it held before is given back.
absl::Status ScanKeys(Source* source, const KeyInterval& interval, uint64_t salt,
                      uint64_t most_keys, RangeKeys* keys, const ExistingFilterUse& existing = {},
                      MemoryHold* memory = nullptr);

}  // namespace rocksieve::join
