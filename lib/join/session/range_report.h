// What happened in one range of a join, seen from the asking side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/join/matching/matching.h"
#include "lib/join/operation.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/statistics.h"

namespace rocksieve::join {

struct RangeReport {
  KeyInterval interval;
  // Strategies in the order in which they went over the wire, of both sides and all attempts.
  std::vector<MoveKind> moves;
  bool equal = false;  // both sides have the same keys: nothing had to be settled
  uint32_t repeats = 0;

  uint64_t keys_of_asking_side = 0, keys_of_answering_side = 0, matched_keys = 0;
  uint64_t rows_received = 0;
  // Of the last attempt. Pruned: keys of the asking side that filters of the other one dropped.
  // False positives: keys that passed all filters of the other side, which lacks them; those of the
  // answering side as far as it told how many it had left.
  uint64_t keys_pruned = 0;
  uint64_t false_positives_of_asking_side = 0, false_positives_of_answering_side = 0;

  Traffic sent, received;    // messages about this range
  uint64_t round_trips = 0;  // times that an answer had to be waited for
  double milliseconds = 0;   // from its opening until the result was proven
  double bits_per_key = 0;   // of the asking side's keys, front-coded and compressed: a sample's
};

// "filter filter sketch"; "equal" if nothing had to be settled.
std::string MovesOf(const RangeReport& report);

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
