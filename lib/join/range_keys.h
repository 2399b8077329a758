// The keys that one side has in a range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <absl/status/status.h>

#include "join/candidate.h"
#include "join/source.h"
#include "sketch/set_sum.h"

namespace rocksieve::join {

struct RangeKeys {
  Candidates candidates;  // all distinct keys
  SetSum sum;             // of them
  // What a key takes on the wire, front-coded and compressed, by a sample of the first ones.
  double bits_per_key = 0;
  // The same if only one key in kSparse is shipped.
  double sparse_bits_per_key = 0;
  // The first key that did not fit under the limit, if there was one: the range ends there.
  std::optional<std::string> next_key;
};

// Scans an interval up to `most_keys` distinct keys. Memory: 24 bytes per key.
absl::Status ScanKeys(Source* source, const KeyInterval& interval, uint64_t salt,
                      uint64_t most_keys, RangeKeys* keys);

}  // namespace rocksieve::join
