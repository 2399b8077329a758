// SPDX-License-Identifier: Apache-2.0
// What joins with servers: from one session with one of them to a join with several.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <grpcpp/channel.h>

#include "lib/join/rows/source.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/session.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/credentials.h"
#include "lib/transport/drive.h"
#include "lib/transport/view_registry.h"

namespace rocksieve::join {

struct Remote {
  std::string address;  // host:port, or what gRPC resolves, as in dns:///name:port
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::string server_name;  // that its certificate must have, if not that of the address
  std::string token;        // empty: none
  bool insecure = false;    // the credentials are without TLS
};

// What the server says before the session begins.
struct ServerView {
  std::string name;
  bool resumed = false;
  std::string database;
  std::vector<ColumnFamilyDescription> families;  // if it was asked for them
  std::string kept;                         // the name of the state, if it was asked to keep it
};

// One attempt to run a session with a server.
class RemoteSession {
 public:
  struct Wish {
    std::string view;       // of a name that the server may still have; empty: a new one
    std::string strategy;   // empty: the planner's choice
    bool describe = false;  // to be told which column families are served
  };

  // Connects, and asks for a view. `first`: of the session that will run, its first message, which
  // goes along instead of waiting for the answer; empty: that waits.
  static absl::StatusOr<std::unique_ptr<RemoteSession>> Start(const Remote& remote,
                                                              const ViewRequest& request,
                                                              const Wish& wish,
                                                              const Cancellation* cancellation,
                                                              const DriveLimits& limits,
                                                              std::string_view first = "");
  ~RemoteSession();

  const ServerView& view() const { return view_; }

  // Once.
  absl::Status Run(Session* session, WireCounts* counts);

 private:
  struct Call;
  RemoteSession(std::unique_ptr<Call> call, const Cancellation* cancellation,
                const DriveLimits& limits);
  absl::Status Greet(const Remote& remote, const ViewRequest& request, const Wish& wish,
                     std::string_view first);

  const std::unique_ptr<Call> call_;
  const Cancellation* const cancellation_;
  const DriveLimits limits_;
  ServerView view_;
};

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
  // Told of each range that is done, for several servers by several threads at once; may be empty.
  std::function<void(const RangeSummary&)> range_done;
};

// Keys and rows are those of ranges that count, ranges and bytes of all.
struct RemoteJoinReport : Statistics {
  std::vector<RangeSummary> range_reports;  // in key order
  std::string kept;  // the name of the server's state, if it was to be kept
};

// Of a new session, from the operating system.
uint64_t RandomSalt();

// The stream may break: then it goes on from the last finished range if the server still has the
// same view, else from the start. Errors begin with the server's address.
absl::Status JoinRemotely(const Remote& remote, Source* source, ResultSink* sink,
                          const RemoteJoinOptions& options, const Cancellation* cancellation,
                          RemoteJoinReport* report);

struct ShardedJoinReport : JoinReport {
  std::string kept;  // the name of the first server's state, if it was to be kept
};

struct ShardedJoinOptions {
  RemoteJoinOptions remote;
  // Told of the number of keys of this side, about, for each shard; may be empty.
  std::function<void(uint64_t keys)> expect;
  // That compute, of all servers together, beside one that reads and talks for each. More than one
  // work on as many ranges at once, each of which takes its memory.
  size_t threads = 1;
};

// A join with one server or with several, which have a part each of the other side's rows.
//
// Several are joined with at once, each by a thread of its own with a temporary file for what it
// finds; then these are merged in key order. This side's rows are scanned, hashed and put into
// filters once for all of them (join/shared_ranges.h).
//
// A source for each of the remotes, all with the same state of the same rows. They are read by a
// thread each: one that stands there more than once must allow that. A single remote writes to the
// sink as it goes; several do when all are done. An error of one ends them all.
absl::Status JoinShards(const std::vector<Remote>& remotes,
                        const std::vector<std::shared_ptr<Source>>& sources,
                        const ShardedJoinOptions& options, ResultSink* sink,
                        Cancellation* cancellation, ShardedJoinReport* report);

}  // namespace rocksieve::join
