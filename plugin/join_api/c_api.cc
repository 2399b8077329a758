// SPDX-License-Identifier: Apache-2.0
// Joins for C: the part of rocksieve/c.h that is in librocksieve_join.so.
#include <chrono>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/c.h>
#include <rocksieve/join/join.h>

#include "lib/join/operation.h"
#include "plugin/join_api/c_settings.h"

namespace rocksieve::join {

// What is set is kept as it was said, and read when the join is run.
struct CJoin {
  Operation operation = Operation::kCount;
  std::string directory, sorted_text, column_family;
  InputOptions input;
  Peer peer;
  std::string token_file;
  JoinOptions options;
  Canceller canceller;
};

namespace {

using rocksdb::Status;

using Setters = CSetters<CJoin>;
using S = CSettings<CJoin>;

const Setters& JoinSetters() {
  using std::chrono::seconds;
  static const auto* const setters = new Setters{
      {"db", S::Text([](CJoin* join) -> std::string& { return join->directory; })},
      {"sorted-text", S::Text([](CJoin* join) -> std::string& { return join->sorted_text; })},
      {"remote",
       [](CJoin* join, const std::string&, const std::string& value) {
         return SplitAddresses(value, &join->peer.addresses);
       }},
      {"column-family", S::Text([](CJoin* join) -> std::string& { return join->column_family; })},
      {"remote-column-family",
       S::Text([](CJoin* join) -> std::string& { return join->peer.column_family; })},
      {"left-on", S::Text([](CJoin* join) -> std::string& { return join->input.on; })},
      {"right-on", S::Text([](CJoin* join) -> std::string& { return join->peer.on; })},
      {"strategy", S::Text([](CJoin* join) -> std::string& { return join->options.strategy; })},
      {"begin", S::Text([](CJoin* join) -> std::string& { return join->options.begin; })},
      {"end",
       [](CJoin* join, const std::string&, const std::string& value) {
         join->options.end = value;
         return Status::OK();
       }},
      {"ca",
       S::Text([](CJoin* join) -> std::string& { return join->peer.credentials.authority_file; })},
      {"cert", S::Text([](CJoin* join) -> std::string& {
         return join->peer.credentials.certificate_file;
       })},
      {"key", S::Text([](CJoin* join) -> std::string& { return join->peer.credentials.key_file; })},
      {"server-name", S::Text([](CJoin* join) -> std::string& { return join->peer.server_name; })},
      {"token-file", S::Text([](CJoin* join) -> std::string& { return join->token_file; })},
      {"insecure", S::Bool([](CJoin* join) -> bool& { return join->peer.credentials.insecure; })},
      {"insecure-network",
       S::Bool([](CJoin* join) -> bool& { return join->peer.credentials.insecure_network; })},
      {"range-keys",
       S::Number(uint64_t{1} << 21,
                 [](CJoin* join, uint64_t keys) { join->options.keys_per_range = keys; })},
      {"round-trips", S::Number(32,
                                [](CJoin* join, uint64_t trips) {
                                  join->options.most_round_trips = static_cast<int>(trips);
                                })},
      {"threads", S::Number(JoinOptions::kMostThreads,
                            [](CJoin* join, uint64_t threads) {
                              join->options.threads = static_cast<int>(threads);
                            })},
      {"link",
       S::Number(JoinOptions::kMostLinkBytesPerSecond,
                 [](CJoin* join, uint64_t bytes) { join->options.link_bytes_per_second = bytes; })},
      {"most-bytes",
       S::Number(std::numeric_limits<uint64_t>::max(),
                 [](CJoin* join, uint64_t bytes) { join->options.most_bytes = bytes; })},
      {"timeout",
       S::Number(uint64_t{1} << 30,
                 [](CJoin* join, uint64_t value) { join->options.timeout = seconds(value); })},
      {"silence",
       S::Number(uint64_t{1} << 20,
                 [](CJoin* join, uint64_t value) { join->options.silence = seconds(value); })},
      {"attempts", S::Number(1000,
                             [](CJoin* join, uint64_t attempts) {
                               join->options.attempts = static_cast<int>(attempts);
                             })},
      {"memory",
       S::Number(uint64_t{1} << 20,
                 [](CJoin* join, uint64_t mib) { join->options.memory_bytes = mib << 20; })},
      {"largest-row",
       S::Number(uint64_t{1} << 20,
                 [](CJoin* join, uint64_t mib) { join->options.most_row_bytes = mib << 20; })},
  };
  return *setters;
}

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
  Status status = OpenInput(join, &input);
  Peer peer = join.peer;
  if (status.ok() && !join.token_file.empty()) {
    std::vector<std::string> tokens;
    status = ReadTokens(join.token_file, &tokens);
    if (status.ok()) peer.token = tokens.front();
  }
  if (!status.ok()) return status;
  JoinOptions options = join.options;
  options.canceller = join.canceller;
  return Join(join.operation, input, peer, options, on_row, report);
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
    return rocksieve::join::SetByName<rocksieve::join::CJoin>(rocksieve::join::JoinSetters(),
                                                              "join", join, name, value);
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
