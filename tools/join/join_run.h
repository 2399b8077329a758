// A join of a database with one or more servers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "join/operation.h"
#include "join/plan_report.h"
#include "transport/cancellation.h"
#include "transport/credentials.h"
#include "transport/remote_join.h"
#include "transport/sharded_join.h"

namespace rocksieve::tools {

struct JoinRunOptions {
  std::string directory;
  std::string column_family = "default";
  std::string left_on;
  size_t sort_memory_bytes = 256 << 20;
  std::vector<std::string> addresses;
  join::Security security;
  std::string token;
  join::RemoteJoinOptions remote;
  // Told of the number of keys of this side, about, for each shard; may be empty.
  std::function<void(uint64_t keys)> expect;
};

using ShardResult = join::ShardReport;
using JoinResult = join::ShardedJoinReport;

// With all servers at once (transport/sharded_join.h).
absl::Status RunJoin(const JoinRunOptions& options, join::ResultSink* sink,
                     join::Cancellation* cancellation, JoinResult* result);

// What it would cost, asked of each server: one small exchange, and one range is read.
absl::Status PlanJoin(const JoinRunOptions& options, const join::Cancellation* cancellation,
                      std::vector<ShardPlan>* plans);

}  // namespace rocksieve::tools
