// SPDX-License-Identifier: Apache-2.0
// What the tests of the transport share: rows, sinks, servers on this machine, and joins with them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <absl/status/status.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "lib/transport/client.h"
#include "lib/transport/server.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {

inline MemorySource::Rows Numbers(int begin, int end) {
  MemorySource::Rows rows;
  for (int i = begin; i < end; i++) {
    rows.push_back({std::to_string(1'000'000 + i), "v" + std::to_string(i)});
  }
  return rows;
}

// The rows that were committed since it last began anew.
class MapSink final : public ResultSink {
 public:
  absl::Status Add(const Row& row, Side) override {
    pending_.emplace_back(row.key, row.value);
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    for (auto& row : pending_) twice += rows.insert(row).second ? 0 : 1;
    pending_.clear();
    if (on_commit) on_commit();
    return absl::OkStatus();
  }
  absl::Status Discard() override { return pending_.clear(), absl::OkStatus(); }
  absl::Status Restart() override { return pending_.clear(), rows.clear(), absl::OkStatus(); }

  std::map<std::string, std::string> rows;
  int twice = 0;  // keys that were given more than once
  std::function<void()> on_commit;

 private:
  MemorySource::Rows pending_;
};

inline ServerOptions InsecureOptions() {
  ServerOptions options;
  options.security.insecure = true;
  options.service.limits.exchange.silence = std::chrono::milliseconds(2000);
  options.service.limits.exchange.farewell = std::chrono::milliseconds(500);
  options.service.first_frame_time = std::chrono::milliseconds(500);
  return options;
}

inline OpenView Serving(MemorySource::Rows rows) {
  return [rows](const ViewRequest&, const ViewTerms&) -> absl::StatusOr<View> {
    return View{std::make_unique<MemorySource>(rows), "test", {}};
  };
}

inline std::unique_ptr<GrpcJoinServer> Started(const OpenView& open,
                                               const ServerOptions& options = InsecureOptions()) {
  auto server = GrpcJoinServer::Start(open, options);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

inline std::string AddressOf(int port) { return "127.0.0.1:" + std::to_string(port); }

inline Remote Local(int port, const std::string& token = "") {
  return {AddressOf(port), grpc::InsecureChannelCredentials(), "", token};
}

struct RemotelyJoined {
  absl::Status status;
  RemoteJoinReport report;
  std::map<std::string, std::string> rows;
};

inline RemoteJoinOptions Attempts(int most) {
  RemoteJoinOptions options;
  options.most_attempts = most;
  return options;
}

inline RemotelyJoined JoinWith(const Remote& remote, Source* mine,
                               RemoteJoinOptions options = Attempts(1),
                               std::function<void()> on_commit = nullptr,
                               std::chrono::milliseconds time = std::chrono::seconds(30)) {
  MapSink sink;
  sink.on_commit = std::move(on_commit);
  options.first_pause = std::chrono::milliseconds(20);
  const Cancellation cancellation(Cancellation::Clock::now() + time);
  RemotelyJoined joined;
  joined.status = JoinRemotely(remote, mine, &sink, options, &cancellation, &joined.report);
  joined.rows = sink.rows;
  EXPECT_EQ(sink.twice, 0);
  return joined;
}

}  // namespace rocksieve::join
