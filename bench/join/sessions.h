// SPDX-License-Identifier: Apache-2.0
// Random keys of two sides, and joins of them in this thread, with a link between them that only
// takes time in the books: what is sent leaves when its sender has computed it and the link has
// sent all before it, and arrives half of a round trip later. Computing takes the CPU time that it
// took here. Beside them, other ways to the same answer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/join/figures.h"
#include "lib/join/matching/planner.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/range_result.h"

namespace rocksieve::bench {

struct Key {
  std::array<char, 16> bytes;

  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  bool operator==(const Key& other) const { return view() == other.view(); }
  bool operator<(const Key& other) const { return view() < other.view(); }
};

using Keys = std::vector<Key>;  // sorted, each once

// Two sides of a join.
struct KeySets {
  Keys client, server;
  // By std::set_intersection.
  Keys Common() const;
};

// `common` keys are in both. The same for the same seed.
KeySets RandomKeySets(uint64_t client, uint64_t server, uint64_t common, uint64_t seed);

// `keys` must outlive it.
std::unique_ptr<join::Source> SourceOf(const Keys* keys);

// The keys themselves, front-coded and compressed with zstd.
uint64_t ShippedBytes(const Keys& keys);

// What a join takes as in textbooks: the smaller side sends a Bloom filter of 10 bits per key with
// 7 probes, the other one ships all of its keys that pass; the first one then knows the matched
// keys.
uint64_t BloomJoinBytes(const KeySets& sets);

struct Link {
  double round_trip_seconds = 0;
  double bits_per_second = 0;  // each way; 0: as fast as can be

  double SecondsFor(double bytes) const {
    return bits_per_second == 0 ? 0 : 8 * bytes / bits_per_second;
  }
};

// One call of a side.
struct Act {
  bool is_client = false;
  std::string_view received, sent;  // one of them, or neither
  double cpu_seconds = 0;
};

// How long acts took at least, of all sessions with the same keys, salt and plans, which hear and
// say the same in the same act. A busy machine makes acts slower, but hardly one of them each time.
class LeastTimes {
 public:
  // The sessions that follow are of this half, of two; their acts count with the least time of both
  // halves, or of this one alone.
  void Begin(int half, bool alone) {
    half_ = half;
    alone_ = alone;
  }
  // What an act counts for that took so long now. What follows from what was heard depends on the
  // plan, so acts are the same only in sessions with the same `plan`, any number.
  double Of(uint64_t plan, bool is_client, std::string_view received, std::string_view sent,
            double seconds);

 private:
  struct Halves {
    double seconds[2];
  };
  std::unordered_map<uint64_t, Halves> times_;  // by a hash of what was said
  int half_ = 0;
  bool alone_ = false;
};

struct SessionSettings {
  uint64_t keys_per_range = join::ClientSessionOptions().keys_per_range;
  // Of a range, besides the one that opens it; the planner's own limit if there is none.
  std::optional<int> most_round_trips;
  join::Strategy strategy = join::Strategy::kAuto;
  // kCount gives no rows to compare, but their number.
  join::Operation operation = join::Operation::kLocalOnly;
  uint64_t seed = 1;  // of the session's salt
  Link link;
  // Of a side: they compute for different ranges at once, and one of them at a time reads.
  int cores = 1;
  size_t ranges_ahead = join::ClientSessionOptions().ranges_ahead;
  // Of a nanosecond; the planner's own if there is none.
  std::optional<double> bits_per_cpu_ns;
  LeastTimes* least_times = nullptr;         // acts take these, if there are any
  uint64_t plan = 0;                         // for least_times
  std::function<void(const Act&)> act_done;  // may be empty
};

struct SessionOutcome {
  std::string error;    // what is wrong with the result: nothing
  uint64_t bytes = 0;   // of messages and frames, both ways
  int round_trips = 0;  // one after another: how often a side had to wait for the other, halved
  double cpu_seconds = 0;
  double link_seconds = 0;  // by the link's books, from the first byte to the client's result
  join::Statistics statistics;
};

// Joins, and compares the keys found with `common`.
SessionOutcome RunSession(const KeySets& sets, const Keys& common, const SessionSettings& settings);

struct Circumstances {
  uint64_t client = 0, server = 0, common = 0;
  SessionSettings session;  // its seed is replaced
};

// Sides of as many keys, some percent of them in common.
Circumstances Alike(uint64_t keys, double common_percent);

struct Runs {
  double median_bytes = 0, worst_bytes = 0;
  double median_round_trips = 0;
  double median_cpu_seconds = 0;
  double median_link_seconds = 0;
};

// Of FigureSettings::seeds runs, each with keys of its own. What went wrong is in the report.
Runs MeasureRuns(const Circumstances& circumstances, FigureRun* run);

// The same for several ways to join, which take turns with the same keys.
std::vector<Runs> MeasureByTurns(const Circumstances& circumstances,
                                 const std::vector<SessionSettings>& ways, FigureRun* run);

}  // namespace rocksieve::bench
