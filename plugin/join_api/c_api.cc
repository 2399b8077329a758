// SPDX-License-Identifier: Apache-2.0
// Joins and servers of them for C: the part of rocksieve/c.h that is in librocksieve_join.so.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <rocksieve/c.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/server.h>

#include "lib/c_api/errors.h"
#include "lib/join/operation.h"
#include "plugin/join_api/c_settings.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using rocksdb::Status;

constexpr uint64_t kMiB = uint64_t{1} << 20, kMilliseconds = 1000;

}  // namespace

// What is set is kept as it was said, and read when the join is run.
struct CJoin {
  CJoin() {
    settings.Text("db", &directory);
    settings.Text("sorted-text", &sorted_text);
    settings.Other("remote", [this](const std::string& value) {
      return SplitAddresses(value, &peer.addresses);
    });
    settings.Text("column-family", &column_family);
    settings.Text("remote-column-family", &peer.column_family);
    settings.Text("left-on", &input.on);
    settings.Text("right-on", &peer.on);
    settings.Text("strategy", &options.strategy);
    settings.Text("begin", &options.begin);
    settings.Text("end", &options.end);
    settings.Credentials(&peer.credentials);
    settings.Text("server-name", &peer.server_name);
    settings.Text("token-file", &token_file);
    settings.Number("range-keys", uint64_t{1} << 21, &options.keys_per_range);
    settings.Number("round-trips", 32, &options.most_round_trips);
    settings.Number("threads", JoinOptions::kMostThreads, &options.threads);
    settings.Number("link", JoinOptions::kMostLinkBytesPerSecond, &options.link_bytes_per_second);
    settings.Number("most-bytes", std::numeric_limits<uint64_t>::max(), &options.most_bytes);
    settings.Number("timeout", uint64_t{1} << 30, &options.timeout, kMilliseconds);
    settings.Number("silence", uint64_t{1} << 20, &options.silence, kMilliseconds);
    settings.Number("attempts", 1000, &options.attempts);
    settings.Number("memory", uint64_t{1} << 20, &options.memory_bytes, kMiB);
    settings.Number("largest-row", uint64_t{1} << 20, &options.most_row_bytes, kMiB);
  }

  Operation operation = Operation::kCount;
  std::string directory, sorted_text, column_family;
  InputOptions input;
  Peer peer;
  std::string token_file;
  JoinOptions options;
  Canceller canceller;
  CSettings settings;
};

// The same until the server is started.
struct CServer {
  CServer() {
    constexpr uint64_t kMostSeconds = uint64_t{1} << 30, kMostSessions = 1000;
    settings.Text("db", &directory);
    settings.Text("listen", &listen);
    settings.Other("column-family", [this](const std::string& value) {
      column_families.push_back(value);
      return Status::OK();
    });
    settings.Credentials(&credentials);
    settings.Text("token-file", &token_file);
    settings.Number("sessions", kMostSessions, &options.most_sessions);
    settings.Number("sessions-per-peer", kMostSessions, &options.most_sessions_per_peer);
    settings.Number("memory", uint64_t{1} << 20, &options.memory_bytes, kMiB);
    settings.Number("session-time", kMostSeconds, &options.session_time, kMilliseconds);
    settings.Number("silence", kMostSeconds, &options.silence, kMilliseconds);
    settings.Number("keep", kMostSeconds, &options.keep, kMilliseconds);
  }

  std::string directory, listen, token_file;
  std::vector<std::string> column_families;
  Credentials credentials;
  ServeOptions options;
  std::unique_ptr<JoinServer> server;  // once it was started
  std::string address;
  CSettings settings;
};

namespace {

Status OpenInput(const CJoin& join, Input* input) {
  if (join.directory.empty() == join.sorted_text.empty()) {
    return Status::InvalidArgument("set either db or sorted-text, this side's rows");
  }
  if (!join.sorted_text.empty()) return Input::OfSortedText(join.sorted_text, join.input, input);
  return Input::OfDirectory(join.directory, join.column_family, join.input, input);
}

Status Run(const CJoin& join, const RowCallback& on_row, JoinReport* report) {
  if (join.peer.addresses.empty()) return Status::InvalidArgument("set remote, the server");
  Input input;
  RETURN_IF_ERROR(OpenInput(join, &input));
  Peer peer = join.peer;
  if (!join.token_file.empty()) {
    std::vector<std::string> tokens;
    RETURN_IF_ERROR(ReadTokens(join.token_file, &tokens));
    peer.token = tokens.front();
  }
  JoinOptions options = join.options;
  options.canceller = join.canceller;
  return Join(join.operation, input, peer, options, on_row, report);
}

Status StartServer(CServer* server) {
  if (server == nullptr) return Status::InvalidArgument("there is no server");
  if (server->server != nullptr) return Status::InvalidArgument("it serves already");
  if (server->directory.empty()) return Status::InvalidArgument("set db, the database");
  if (server->listen.empty()) {
    return Status::InvalidArgument("set listen, the address, such as 127.0.0.1:7420");
  }
  ServeOptions options = server->options;
  if (!server->token_file.empty()) {
    RETURN_IF_ERROR(ReadTokens(server->token_file, &options.tokens));
  }
  ServedDatabase served;
  served.directory = server->directory;
  served.column_family_names = server->column_families;
  const Status status =
      JoinServer::Start(served, server->listen, server->credentials, options, &server->server);
  if (status.ok()) server->address = server->server->address();
  return status;
}

}  // namespace
}  // namespace rocksieve::join

struct rocksieve_join_t : rocksieve::join::CJoin {};

rocksieve_join_t* rocksieve_join_create(const char* operation, char** error) {
  rocksieve_join_t* join = nullptr;
  rocksieve::join::Succeeds(error, [&] {
    const std::string wanted = operation == nullptr ? "" : operation;
    std::string known;
    for (const rocksieve::join::Operation each : rocksieve::join::kAllOperations) {
      const std::string name(rocksieve::join::NameOf(each));
      known += (known.empty() ? "" : ", ") + name;
      if (name != wanted) continue;
      join = new rocksieve_join_t;
      join->operation = each;
      return rocksdb::Status::OK();
    }
    return rocksdb::Status::InvalidArgument("there is no join \"" + wanted + "\"; there are " +
                                            known);
  });
  return join;
}

unsigned char rocksieve_join_set(rocksieve_join_t* join, const char* name, const char* value,
                                 char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (join == nullptr) return rocksdb::Status::InvalidArgument("there is no join");
    return join->settings.Set("join", name, value == nullptr ? "" : value);
  });
}

unsigned char rocksieve_join_run(rocksieve_join_t* join, rocksieve_join_row_t on_row, void* state,
                                 rocksieve_join_counts_t* counts, char** error) {
  rocksieve::join::JoinReport report;
  const auto give = [&](const rocksieve::join::ResultRow& row) {
    const int stop = on_row(state, row.is_local ? 1 : 0, row.key.data(), row.key.size(),
                            row.value.data(), row.value.size());
    return stop == 0 ? rocksdb::Status::OK() : rocksdb::Status::Aborted("ended by on_row");
  };
  const bool complete = rocksieve::join::Succeeds(error, [&] {
    const auto callback =
        on_row == nullptr ? rocksieve::join::RowCallback() : rocksieve::join::RowCallback(give);
    if (join == nullptr) return rocksdb::Status::InvalidArgument("there is no join");
    return rocksieve::join::Run(*join, callback, &report);
  });
  if (counts != nullptr) {
    const bool known = report.keys_are_known;
    *counts = {known ? report.matched_keys : ROCKSIEVE_UNKNOWN_COUNT,
               known ? report.local_only_keys : ROCKSIEVE_UNKNOWN_COUNT,
               report.remote_only_keys,
               report.rows_received,
               report.wire_bytes_sent,
               report.wire_bytes_received};
  }
  return complete;
}

void rocksieve_join_cancel(rocksieve_join_t* join) {
  if (join != nullptr) join->canceller.Cancel();
}

void rocksieve_join_destroy(rocksieve_join_t* join) { delete join; }

struct rocksieve_server_t : rocksieve::join::CServer {};

rocksieve_server_t* rocksieve_server_create(char** error) {
  return rocksieve::WithoutThrowing<rocksieve_server_t*>(nullptr, error,
                                                         [] { return new rocksieve_server_t; });
}

unsigned char rocksieve_server_set(rocksieve_server_t* server, const char* name, const char* value,
                                   char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (server == nullptr) return rocksdb::Status::InvalidArgument("there is no server");
    if (server->server != nullptr) {
      return rocksdb::Status::InvalidArgument("it serves already; set it before the start");
    }
    return server->settings.Set("server", name, value == nullptr ? "" : value);
  });
}

unsigned char rocksieve_server_start(rocksieve_server_t* server, char** error) {
  return rocksieve::join::Succeeds(error, [&] { return rocksieve::join::StartServer(server); });
}

const char* rocksieve_server_address(const rocksieve_server_t* server) {
  return server == nullptr ? "" : server->address.c_str();
}

unsigned char rocksieve_server_counts(const rocksieve_server_t* server,
                                      rocksieve_server_counts_t* counts, char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (server == nullptr || counts == nullptr) {
      return rocksdb::Status::InvalidArgument("there is no server, or no place for the counts");
    }
    *counts = {};
    if (server->server == nullptr) return rocksdb::Status::OK();
    const rocksieve::join::ServerCounters now = server->server->counters();
    counts->sessions = now.sessions;
    counts->done = now.done;
    for (const auto& [status, number] : now.failed) counts->failed += number;
    for (const auto& [status, number] : now.refused) counts->refused += number;
    counts->rows_sent = now.rows_sent;
    counts->bytes_sent = now.bytes_sent;
    counts->bytes_received = now.bytes_received;
    return rocksdb::Status::OK();
  });
}

void rocksieve_server_stop(rocksieve_server_t* server, uint64_t grace_milliseconds) {
  constexpr uint64_t kMostGrace = uint64_t{24} * 3600 * 1000;
  rocksieve::join::Succeeds(nullptr, [&] {
    if (server != nullptr && server->server != nullptr) {
      server->server->Shutdown(std::chrono::milliseconds(std::min(grace_milliseconds, kMostGrace)));
    }
    return rocksdb::Status::OK();
  });
}

void rocksieve_server_destroy(rocksieve_server_t* server) { delete server; }
