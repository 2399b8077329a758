// SPDX-License-Identifier: Apache-2.0
// What happened in one range of a join, and in all of them, seen from the client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksieve/join/report.h>

#include "lib/join/existing/existing_filter_choice.h"
#include "lib/join/matching/planner.h"
#include "lib/join/operation.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

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

  WireBytes sent, received;  // messages about this range
  uint64_t round_trips = 0;  // times that an answer had to be waited for
  double milliseconds = 0;   // from its opening until the result was proven
  double bits_per_key = 0;   // of the client's keys, front-coded and compressed: a sample's
};

// What a session knows of a server's report, and more of itself.
struct Statistics : ServerReport {
  // Rows with a NULL key, where the operation counts or gives them.
  uint64_t local_absent_rows = 0, remote_absent_rows = 0;
  // Of the range that took the most, beside its opening.
  uint64_t most_range_round_trips = 0;
  ExistingFilterChoice existing_choice = ExistingFilterChoice::kNotThere;
};

// "filter filter sketch"; "equal" if nothing had to be reconciled.
std::string PartsOf(const RangeReport& report);

// Bytes on the wire, rows apart, if the side with fewer keys sent all of them, front-coded and
// compressed.
double ShippedKeysBytes(const RangeReport& report);

// Likewise for the Bloom join of the textbooks: a filter with 10 bits for each key of the side that
// has fewer, answered with the keys of the other side that pass.
double TextbookBloomJoinBytes(const RangeReport& report);

// For whoever asked for the join; `address`: of the server.
RangeSummary SummaryOf(const RangeReport& report, const std::string& address);

// As the tally of several sessions.
void AddStatistics(const Statistics& more, Statistics* sum);
// What a range adds to the tally of its session when it is done.
void AddRange(const RangeReport& range, Statistics* sum);

}  // namespace rocksieve::join
