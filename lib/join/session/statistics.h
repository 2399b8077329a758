// What happened in a join, seen from the asking side.
#pragma once

#include <cstdint>

#include "lib/join/ready/ready_choice.h"

namespace rocksieve::join {

// Bytes of messages by what they are for.
struct Traffic {
  uint64_t planning = 0;  // opening ranges: sums, estimators
  uint64_t filters = 0;
  uint64_t verification = 0;  // lists, keys, sketches, symbols, and what answers them
  uint64_t payload = 0;       // rows

  uint64_t total() const { return planning + filters + verification + payload; }
};

struct Statistics {
  uint64_t matched_keys = 0;
  uint64_t keys_of_asking_side_only = 0;
  uint64_t keys_of_answering_side_only = 0;
  // Rows without the attribute, where the operation counts or gives them.
  uint64_t absent_rows_of_asking_side = 0, absent_rows_of_answering_side = 0;
  uint64_t rows_received = 0;

  uint64_t ranges = 0;
  uint64_t equal_ranges = 0;
  uint64_t repeated_ranges = 0;  // since sums contradicted each other
  uint64_t ranges_by_list = 0, ranges_by_keys = 0, ranges_by_symbols = 0, ranges_by_sketch = 0;
  uint64_t filters = 0;  // sent and received, for repeated ranges too
  // Of the range that took the most, beside its opening.
  uint64_t most_range_round_trips = 0;
  // What this side did itself, and not what other sessions of the same join did for it
  // (shared_ranges.h): keys scanned and hashed to open ranges, filters built.
  uint64_t keys_hashed = 0, filters_built = 0;
  // Sums over the ranges that are done, as range_report.h explains them.
  uint64_t keys_pruned = 0, false_positives = 0;
  double shipped_keys_bytes = 0, textbook_bloom_join_bytes = 0;
  Traffic sent, received;

  // Filters that lay ready when the session began.
  struct ReadyFilters {
    ReadyChoice choice = ReadyChoice::kNotThere;
    uint64_t filters = 0, bytes = 0;
    uint64_t pruned_keys = 0;       // of the side that received them
    uint64_t withdrawn_ranges = 0;  // begun with them in vain
  } ready;
};

}  // namespace rocksieve::join
