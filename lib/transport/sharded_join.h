// SPDX-License-Identifier: Apache-2.0
// A join with one server or with several, which have a part each of the other side's rows.
//
// Several are joined with at once, each by a thread of its own with a temporary file for what it
// finds; then these are merged in key order. This side's rows are scanned, hashed and put into
// filters once for all of them (join/shared_ranges.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/remote_join.h"
#include "lib/transport/remote_session.h"

namespace rocksieve::join {

struct ShardReport {
  std::string address;
  RemoteJoinReport report;
  double seconds = 0;
};

struct ShardedJoinReport {
  std::vector<ShardReport> shards;
  // Keys; one that several shards have counts once for each among the remote ones. Of several
  // shards only `count` gives the others.
  bool keys_are_known = true;
  uint64_t matched_keys = 0, local_only_keys = 0, remote_only_keys = 0;
  // Rows with a NULL key, where the operation counts or gives them; of several shards only this
  // side's, and only by `count`.
  uint64_t absent_rows_local = 0, absent_rows_remote = 0;
  double seconds = 0;
};

struct ShardedJoinOptions {
  RemoteJoinOptions remote;
  // Told of the number of keys of this side, about, for each shard; may be empty.
  std::function<void(uint64_t keys)> expect;
  // Told of each range that is done, and by which server, by several threads at once; may be empty.
  std::function<void(const std::string& address, const RangeReport& range)> range_done;
  // That compute, of all servers together, beside one that reads and talks for each. More than one
  // work on as many ranges at once, each of which takes its memory.
  size_t threads = 1;
};

// A source for each of the remotes, all with the same state of the same rows. They are read by a
// thread each: one that stands there more than once must allow that. A single remote writes to the
// sink as it goes; several do when all are done. An error of one ends them all.
absl::Status JoinShards(const std::vector<Remote>& remotes,
                        const std::vector<std::shared_ptr<Source>>& sources,
                        const ShardedJoinOptions& options, ResultSink* sink,
                        Cancellation* cancellation, ShardedJoinReport* report);

}  // namespace rocksieve::join
