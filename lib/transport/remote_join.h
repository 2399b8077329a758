// SPDX-License-Identifier: Apache-2.0
// A join with a server, whose stream may break: then it goes on from the last finished range if the
// server still has the same view, else from the start.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/client_session.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/remote_session.h"

namespace rocksieve::join {

struct RemoteJoinOptions {
  ClientSessionOptions client;  // its salt is replaced
  ViewRequest request;
  std::string strategy;  // empty: the planner's choice
  DriveLimits limits;
  // Of all that the server makes this side keep, its keys of the open ranges among it. Messages and
  // queues are limited to parts of it.
  uint64_t memory_bytes = uint64_t{1} << 30;
  bool describe = false;     // to be told which column families the server has
  bool keep_ranges = false;  // in the report, which else has only what they add up to
  int most_attempts = 4;     // without a range finished in between
  std::chrono::milliseconds first_pause{500};    // before the second attempt; doubles, up to 10 s
  std::function<void(const std::string&)> note;  // told of broken streams; may be empty
};

struct RemoteJoinReport {
  Statistics statistics;            // keys and rows of ranges that count; ranges and bytes of all
  std::vector<RangeReport> ranges;  // in key order
  WireCounts wire;
  uint64_t attempts = 0;
  uint64_t resumed = 0;    // of them, those that went on
  uint64_t restarted = 0;  // those that had to begin anew after ranges were finished
  std::string database;    // identity of the server's
  std::vector<FamilyDescription> families;
  std::string kept;  // the name of the server's state, if it was to be kept
};

// Of a new session, from the operating system.
uint64_t RandomSalt();

// Errors begin with the server's address.
absl::Status JoinRemotely(const Remote& remote, Source* source, ResultSink* sink,
                          const RemoteJoinOptions& options, const Cancellation* cancellation,
                          RemoteJoinReport* report);

}  // namespace rocksieve::join
