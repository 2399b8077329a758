// SPDX-License-Identifier: Apache-2.0
// What the parts of a client share, and how they speak.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/memory_account.h"
#include "lib/join/operation.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/client_ranges.h"
#include "lib/join/session/existing_filter_exchange.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/outbox.h"
#include "lib/join/session/range_report.h"
#include "lib/join/session/range_turns.h"
#include "lib/join/session/shared_ranges.h"

namespace rocksieve::join {

struct ClientSessionOptions {
  Operation operation = Operation::kIntersection;
  KeyInterval interval;  // the part of the key space to join
  // Only these parts of it, apart from each other and rising; none: all of it.
  std::vector<KeyInterval> parts;
  // Whether rows with a NULL key belong to it: of sessions that share the key space, one has them.
  bool absent_rows = true;
  // Fresh and random for each session: whoever knows it can choose keys whose hashes collide.
  uint64_t salt = 0;
  // Of a range, about 80 bytes per key are kept in memory, times the ranges under way. Larger
  // ranges cost less per key, above all where few keys differ, and fewer round trips in all.
  uint64_t keys_per_range = uint64_t{1} << 20;
  size_t ranges_ahead = 2;
  int most_attempts = 3;                           // per range, until the join fails
  uint64_t most_row_bytes = kDefaultMostRowBytes;  // of the other side, key and value
  // Of rows that the other side sends before a range is proven, keys and values: they wait in
  // files.
  uint64_t most_unproven_bytes = UINT64_MAX;
  // The whole key is joined on: no two rows of the other side have the same one, and each has one.
  bool keys_are_unique = false;
  // Not kNone: rows of both sides have the join keys of whole rows, the operation is kSymmetric,
  // and keys_are_unique. Of Comparison::kKeys, rows of the server come to the sink with zeros for
  // their digests, and without values.
  Comparison comparison = Comparison::kNone;
  uint64_t most_message_bytes = UINT64_MAX;  // of those that this side makes
  // Whether rows of this side with a NULL key are given to the sink and counted. Whoever joins with
  // several sides at once does so himself, and once: EmitAbsentRows().
  bool own_absent_rows = true;
  PlannerOptions planner;
  // Of messages, rows apart; 0: no limit. A join that would take more, by the plan of a range,
  // fails before it does.
  uint64_t most_bytes = 0;
  ExistingFilterOptions existing;
  // What the server makes this one keep is taken from it; must outlive the side. Null: no limit.
  MemoryAccount* memory = nullptr;
  // With the other sessions of a join with several shards: then its salt is that of `salt`. May be
  // null.
  SharedRanges::Member* shared = nullptr;
  // Compute for ranges that are under way at once; null: the session's own thread does. Must
  // outlive the session.
  Workers* workers = nullptr;
  // Told of each range when its result is proven and with the sink; may be empty.
  std::function<void(const RangeReport&)> range_done;
};

struct ClientState {
  // The pointers must outlive it.
  ClientState(Source* the_source, Sink* the_sink, const ClientSessionOptions& the_options);

  // `range`: that which the message is about, if any.
  absl::Status Send(const Message& message, ClientRange* range = nullptr);
  // Counts a message of the other side, and finds the range that it is about, if any.
  ClientRange* Heard(const Message& message, uint64_t bytes);
  // Another attempt, if there is one left.
  absl::Status Repeat(ClientRange* range, const absl::Status& why);
  // Another attempt, since existing SST filters turned out not to be what they should.
  absl::Status RepeatWithoutExisting(ClientRange* range);
  bool compares() const { return options.comparison != Comparison::kNone; }
  uint64_t SaltOf(const ClientRange& range) const {
    return RangeSalt(options.salt, range.number, range.attempt);
  }

  Source* const source;
  Sink* const sink;
  const ClientSessionOptions options;
  HelloAnswer answer;  // once it is there
  ExistingFilterExchange existing;
  ExistingFilterOffer offer;  // of this side's
  Statistics statistics;
  ClientRanges ranges;
  Outbox outbox;
  RangeTurns turns;  // the last one: it uses the ranges
};

}  // namespace rocksieve::join
