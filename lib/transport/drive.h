// SPDX-License-Identifier: Apache-2.0
// Runs a session over a stream to its end.
#pragma once

#include <cstdint>

#include <absl/status/status.h>

#include "lib/join/memory_account.h"
#include "lib/join/session/session.h"
#include "lib/transport/exchange.h"

namespace rocksieve::join {

// What the other side may make this one keep, and how long it may be waited for.
struct DriveLimits {
  uint64_t most_message_bytes = uint64_t{64} << 20;
  // Of a session that always hears: heard since something could last be said, by a side that talks
  // and talks, and takes no answers.
  uint64_t most_unanswered_bytes = uint64_t{256} << 20;
  // Of queues, messages that arrive and messages that leave; null: no limit.
  MemoryAccount* memory = nullptr;
  Exchange::Limits exchange;
};

// The same within an account: a quarter of it for a message, an eighth for each of the queues, all
// of it for what is not answered.
DriveLimits Within(MemoryAccount* memory, DriveLimits limits);
// What a session's queues take of its account for as long as it lasts.
uint64_t QueueBytes(const DriveLimits& limits);

// OK if the session is done and both sides have closed the stream in order. Unavailable if it
// broke; DeadlineExceeded if the other side was silent; what `cancellation` says; else what the
// session says, which the other side is told if it is still there.
absl::Status Drive(Session* session, Exchange* exchange, const Cancellation* cancellation,
                   const DriveLimits& limits, WireCounts* counts);

}  // namespace rocksieve::join
