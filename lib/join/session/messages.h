// SPDX-License-Identifier: Apache-2.0
// What the two sides of a join say to each other (docs/protocol.md has the bytes).
//
//   client                                server
//   Hello                                      HelloAnswer
//   Filters .. (of either side, if it has any already and they are of use)
//   Open range                                 Facts
//   Step .. (what Matching says, either side first, until the range is reconciled)
//   Fetch (if rows are wanted)                 Rows ..
//   Goodbye
//
// Many ranges may be under way at once. Either side may end the session with a Failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/planner.h"
#include "lib/join/operation.h"
#include "lib/join/rows/source.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

inline constexpr uint32_t kProtocolVersion = 1;

// That either side keeps of a range: a side that says it has more is not believed. Where it drops
// keys by existing filters, it scans at most so many for each that it may keep: a scan that finds
// hardly any gives word in time.
inline constexpr uint64_t kMostKeysOfARange = uint64_t{1} << 21;
inline constexpr uint64_t kMostKeysPerCandidate = 4;

struct Hello {
  uint32_t version = kProtocolVersion;
  Operation operation = Operation::kIntersection;
  uint64_t salt = 0;  // of the session
  uint64_t keys = 0;  // of the client, estimated
  // How the client wants ranges to be reconciled.
  Strategy strategy = Strategy::kAuto;
  uint32_t most_round_trips = 4;
  KeyInterval interval = {};          // the part of the key space that it will open
  ExistingFilterOffer existing = {};  // filters that it could send at once
  // Of the server's that it would take: how many bytes, of which formats as bits.
  uint64_t accepted_filter_bytes = 0;
  uint8_t readable_formats = 0;
  Comparison comparison = Comparison::kNone;
  // What a millisecond of computation is worth, by the link that the client knows of; 0: bytes are
  // what counts.
  uint64_t bits_per_cpu_ms = 0;
};

struct HelloAnswer {
  uint32_t version = kProtocolVersion;
  uint64_t keys = 0;  // of the server, estimated
  // Of the server's rows with a NULL key, where the operation wants to know of them.
  SetSum absent;
  // HashCheck() of the hello's salt: that both sides compute the same hashes. Else, nothing would
  // match, and sums of nothing agree.
  uint64_t hash_check = 0;
  // Beyond which it will cut ranges.
  uint64_t most_keys_per_range = 0;
  ExistingFilterChoice existing_choice = ExistingFilterChoice::kNotThere;
  // If those of the server are chosen: how many keys that it does not have pass them.
  double existing_pass_rate = 1;
  uint64_t accepted_filter_bytes = 0;
};

// What a side that received existing SST filters has done with them in a range.
struct Pruning {
  // How many of the filters were held against its keys; nothing if it dropped none.
  std::optional<uint64_t> filters;
  uint64_t digest = 0;      // of these filters, as they came
  uint64_t candidates = 0;  // keys that passed
};

// InvalidArgument if no honest side, `who`, can have so many keys in a range.
absl::Status CheckKeyCounts(const char* who, uint64_t keys, const Pruning& pruning);

// A part of the key space, to be reconciled by itself. The salt of its hashes follows from that of
// the session, the range, and the attempt.
struct Open {
  uint64_t range = 0;
  uint32_t attempt = 0;
  KeyInterval interval;
  SetSum sum;  // of the client's keys
  // Of its whole rows, in a comparison.
  std::optional<SetSum> row_sum;
  bool server_begins = true;
  Pruning pruning;  // by the server's filters
  // A DifferenceEstimator of the client's keys; may be empty.
  std::string estimator;
};

struct Facts {
  enum class Outcome : uint8_t {
    kOpened = 0,
    // Both sides have the same keys, and rows if these are compared: the range is reconciled.
    kEqual = 1,
    kTooLarge = 2,  // the server has more keys than it can keep: open it up to `next_key`
    // The client dropped keys by filters that are not, or do not have, all of the server's keys:
    // open it again under the next attempt.
    kWithdrawn = 3,
    kSameKeys = 4,  // of a comparison: both sides have the same keys, but not the same rows
  };
  uint64_t range = 0;
  uint32_t attempt = 0;
  Outcome outcome = Outcome::kOpened;
  SetSum sum;           // of the server's keys; of its rows, if they are compared and equal
  uint64_t common = 0;  // estimated
  Pruning pruning;      // by the client's filters
  std::string next_key;
  // A DifferenceEstimator of the server's keys, in a comparison that is open; may be empty.
  std::string estimator;
};

struct Step {
  uint64_t range = 0;
  std::string message;  // of Matching
};

// The range number that stands for the rows with a NULL key (range_result.h).
inline constexpr uint64_t kAbsentRange = UINT64_MAX;

struct Fetch {
  uint64_t range = 0;
  uint32_t attempt = 0;
};

struct Rows {
  uint64_t range = 0;
  uint32_t attempt = 0;
  bool last = false;
  std::string batch;  // of RowBatchWriter
};

struct Goodbye {};

struct Failure {
  absl::Status status;
};

using Message =
    std::variant<Hello, HelloAnswer, Open, Facts, Step, Fetch, Rows, Goodbye, Failure, Filters>;

// Ends in a check of all that stands before it: what a wire, or a bug, makes of a message is never
// taken for one.
std::string Encode(const Message& message);

// InvalidArgument if the bytes are not a message.
absl::StatusOr<Message> Decode(std::string_view bytes);

// The hash of the key "rocksieve" in the first message about the first range.
uint64_t HashCheck(uint64_t session_salt);

// The salt of the hashes of a range.
uint64_t RangeSalt(uint64_t session_salt, uint64_t range, uint32_t attempt);

}  // namespace rocksieve::join
