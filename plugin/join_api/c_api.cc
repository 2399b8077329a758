// SPDX-License-Identifier: Apache-2.0
// Joins for C: the part of rocksieve/c.h that is in librocksieve_join.so.
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksieve/c.h>
#include <rocksieve/join/join.h>

#include "lib/join/operation.h"

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

void SetError(std::string_view text, char** error) {
  if (error == nullptr) return;
  std::free(*error);
  *error = strndup(text.data(), text.size());
}

// Runs `function`, which returns a status; false, and an error, if that is not OK or it throws.
template <typename Function>
bool Succeeds(char** error, const Function& function) {
  try {
    const Status status = function();
    if (status.ok()) return true;
    const char* const text = status.getState();
    SetError(text != nullptr ? text : status.ToString(), error);
  } catch (const std::exception& exception) {
    SetError(exception.what(), error);
  }
  return false;
}

Status ToNumber(const std::string& name, const std::string& value, uint64_t least, uint64_t most,
                uint64_t* number) {
  const char* const end = value.data() + value.size();
  const auto [stopped, result] = std::from_chars(value.data(), end, *number);
  if (result == std::errc() && stopped == end && *number >= least && *number <= most) {
    return Status::OK();
  }
  return Status::InvalidArgument(name + " takes a number from " + std::to_string(least) + " to " +
                                 std::to_string(most) + ", not " + value);
}

Status ToBool(const std::string& name, const std::string& value, bool* set) {
  *set = value == "true" || value == "1" || value.empty();
  if (*set || value == "false" || value == "0") return Status::OK();
  return Status::InvalidArgument(name + " takes true or false, not " + value);
}

using Setter =
    std::function<Status(CJoin* join, const std::string& name, const std::string& value)>;

Setter Text(std::string& (*of)(CJoin* join)) {
  return [of](CJoin* join, const std::string&, const std::string& value) {
    of(join) = value;
    return Status::OK();
  };
}

Setter Bool(bool& (*of)(CJoin* join)) {
  return [of](CJoin* join, const std::string& name, const std::string& value) {
    return ToBool(name, value, &of(join));
  };
}

Setter Number(uint64_t most, void (*set)(CJoin* join, uint64_t value)) {
  return [most, set](CJoin* join, const std::string& name, const std::string& value) {
    uint64_t number = 0;
    Status status = ToNumber(name, value, 1, most, &number);
    if (status.ok()) set(join, number);
    return status;
  };
}

const std::map<std::string, Setter, std::less<>>& Setters() {
  using std::chrono::seconds;
  static const auto* const setters = new std::map<std::string, Setter, std::less<>>{
      {"db", Text([](CJoin* join) -> std::string& { return join->directory; })},
      {"sorted-text", Text([](CJoin* join) -> std::string& { return join->sorted_text; })},
      {"remote",
       [](CJoin* join, const std::string&, const std::string& value) {
         return SplitAddresses(value, &join->peer.addresses);
       }},
      {"column-family", Text([](CJoin* join) -> std::string& { return join->column_family; })},
      {"remote-column-family",
       Text([](CJoin* join) -> std::string& { return join->peer.column_family; })},
      {"left-on", Text([](CJoin* join) -> std::string& { return join->input.on; })},
      {"right-on", Text([](CJoin* join) -> std::string& { return join->peer.on; })},
      {"strategy", Text([](CJoin* join) -> std::string& { return join->options.strategy; })},
      {"begin", Text([](CJoin* join) -> std::string& { return join->options.begin; })},
      {"end",
       [](CJoin* join, const std::string&, const std::string& value) {
         join->options.end = value;
         return Status::OK();
       }},
      {"ca",
       Text([](CJoin* join) -> std::string& { return join->peer.credentials.authority_file; })},
      {"cert",
       Text([](CJoin* join) -> std::string& { return join->peer.credentials.certificate_file; })},
      {"key", Text([](CJoin* join) -> std::string& { return join->peer.credentials.key_file; })},
      {"server-name", Text([](CJoin* join) -> std::string& { return join->peer.server_name; })},
      {"token-file", Text([](CJoin* join) -> std::string& { return join->token_file; })},
      {"insecure", Bool([](CJoin* join) -> bool& { return join->peer.credentials.insecure; })},
      {"insecure-network",
       Bool([](CJoin* join) -> bool& { return join->peer.credentials.insecure_network; })},
      {"range-keys",
       Number(uint64_t{1} << 21,
              [](CJoin* join, uint64_t keys) { join->options.keys_per_range = keys; })},
      {"round-trips", Number(32,
                             [](CJoin* join, uint64_t trips) {
                               join->options.most_round_trips = static_cast<int>(trips);
                             })},
      {"most-bytes", Number(std::numeric_limits<uint64_t>::max(),
                            [](CJoin* join, uint64_t bytes) { join->options.most_bytes = bytes; })},
      {"timeout",
       Number(uint64_t{1} << 30,
              [](CJoin* join, uint64_t value) { join->options.timeout = seconds(value); })},
      {"silence",
       Number(uint64_t{1} << 20,
              [](CJoin* join, uint64_t value) { join->options.silence = seconds(value); })},
      {"attempts", Number(1000,
                          [](CJoin* join, uint64_t attempts) {
                            join->options.attempts = static_cast<int>(attempts);
                          })},
      {"memory", Number(uint64_t{1} << 20,
                        [](CJoin* join, uint64_t mib) { join->options.memory_bytes = mib << 20; })},
      {"largest-row",
       Number(uint64_t{1} << 20,
              [](CJoin* join, uint64_t mib) { join->options.most_row_bytes = mib << 20; })},
  };
  return *setters;
}

Status Set(CJoin* join, const std::string& name, const std::string& value) {
  const auto setter = Setters().find(name);
  if (setter != Setters().end()) return setter->second(join, name, value);
  std::string known;
  for (const auto& [each, unused] : Setters()) known += (known.empty() ? "" : ", ") + each;
  return Status::InvalidArgument("a join has no \"" + name + "\"; it has " + known);
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
    return rocksieve::join::Set(join, name == nullptr ? "" : name, value == nullptr ? "" : value);
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
    return rocksieve::join::Run(*join, callback, &report);
  });
  if (counts != nullptr) {
    *counts = {report.matched_keys,  report.local_only_keys, report.remote_only_keys,
               report.rows_received, report.wire_bytes_sent, report.wire_bytes_received};
  }
  return complete;
}

void rocksieve_join_cancel(rocksieve_join_t* join) { join->canceller.Cancel(); }

void rocksieve_join_destroy(rocksieve_join_t* join) { delete join; }
