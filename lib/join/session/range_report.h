// SPDX-License-Identifier: Apache-2.0
// What happened in one range of a join, and in all of them, seen from the client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/join/existing/existing_filter_choice.h"
#include "lib/join/matching/planner.h"
#include "lib/join/operation.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

// Bytes of messages by what they are for.
struct Traffic {
  uint64_t planning = 0;  // opening ranges: sums, estimators
  uint64_t filters = 0;
  uint64_t verification = 0;  // lists, keys, sketches, symbols, and what answers them
  uint64_t payload = 0;       // rows

  uint64_t total() const { return planning + filters + verification + payload; }
};

struct RangeReport {
  KeyInterval interval;
  // Strategies in the order in which they went over the wire, of both sides and all attempts.
  std::vector<Part> parts;
  bool equal = false;  // both sides have the same keys: nothing had to be reconciled
  uint32_t repeats = 0;

  uint64_t client_keys = 0, server_keys = 0, matched_keys = 0;
  uint64_t rows_received = 0;
  // Of the last attempt. Pruned: keys of the client that filters of the other one dropped. False
  // positives: keys that passed all filters of the other side, which lacks them; those of the
  // server as far as it told how many it had left.
  uint64_t keys_pruned = 0;
  uint64_t client_false_positives = 0, server_false_positives = 0;

  Traffic sent, received;    // messages about this range
  uint64_t round_trips = 0;  // times that an answer had to be waited for
  double milliseconds = 0;   // from its opening until the result was proven
  double bits_per_key = 0;   // of the client's keys, front-coded and compressed: a sample's
};

// In a whole session.
struct Statistics {
  uint64_t matched_keys = 0;
  uint64_t client_only_keys = 0;
  uint64_t server_only_keys = 0;
  // Rows with a NULL key, where the operation counts or gives them.
  uint64_t client_absent_rows = 0, server_absent_rows = 0;
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
  // Sums over the ranges that are done, as in RangeReport.
  uint64_t keys_pruned = 0, false_positives = 0;
  double shipped_keys_bytes = 0, textbook_bloom_join_bytes = 0;
  Traffic sent, received;

  // Filters that were there when the session began.
  struct ExistingFilters {
    ExistingFilterChoice choice = ExistingFilterChoice::kNotThere;
    uint64_t filters = 0, bytes = 0;
    uint64_t pruned_keys = 0;       // of the side that received them
    uint64_t withdrawn_ranges = 0;  // begun with them and given up
  } existing;
};

// "filter filter sketch"; "equal" if nothing had to be reconciled.
std::string PartsOf(const RangeReport& report);

// Bytes on the wire, rows apart, if the side with fewer keys sent all of them, front-coded and
// compressed.
double ShippedKeysBytes(const RangeReport& report);

// Likewise for the Bloom join of the textbooks: a filter with 10 bits for each key of the side that
// has fewer, answered with the keys of the other side that pass.
double TextbookBloomJoinBytes(const RangeReport& report);

// As the tally of several sessions.
void AddStatistics(const Statistics& more, Statistics* sum);
// What a range adds to the tally of its session when it is done.
void AddRange(const RangeReport& range, Statistics* sum);

}  // namespace rocksieve::join
