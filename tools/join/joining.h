// SPDX-License-Identifier: Apache-2.0
// What commands that join have in common: flags, and what goes on meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/rate_limiter.h>
#include <rocksdb/status.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/peer.h>

#include "support/progress.h"
#include "tools/command/command.h"

namespace rocksieve::tools {

inline const std::map<std::string, join::Operation> kOperations = {
    {"intersection", join::Operation::kIntersection},
    {"difference", join::Operation::kDifference},
    {"local-only", join::Operation::kLocalOnly},
    {"symmetric", join::Operation::kSymmetric},
    {"count", join::Operation::kCount}};

// How a side is protected.
struct SecurityFlags {
  join::Credentials credentials;
  std::string certificates;  // directory that `rocksieve certs` made
  std::string token_file;
};

void AddSecurityFlags(Parser* parser, SecurityFlags* flags);

// These, and those of whoever connects.
void AddClientFlags(Parser* parser, SecurityFlags* flags, join::Peer* peer);

inline constexpr uint64_t kMebibyte = 1 << 20;
inline constexpr std::chrono::seconds kSecond(1);

// A number from 1 to `most`: *value is that many units. It stays what it is without the flag.
template <typename Value, typename Unit = int>
Option* AddNumber(Parser* parser, const char* name, Value* value, int most, const char* description,
                  Unit unit = 1) {
  const auto set = [=](int number) { *value = static_cast<Value>(number * unit); };
  return parser->add_option_function<int>(name, set, description)
      ->type_name("N")
      ->check(CLI::Range(1, most));
}

// One that few need to give.
template <typename... Arguments>
void AddRareNumber(Arguments... arguments) {
  AddNumber(arguments...)->group(kRareFlags);
}

// With the files that the directory stands for; `side` is "server" or "client", as they are called.
join::Credentials CredentialsOf(const SecurityFlags& flags, const std::string& side);

// None without --token-file.
rocksdb::Status ReadTokensOf(const SecurityFlags& flags, std::vector<std::string>* tokens);

// Credentials and the token of a client.
rocksdb::Status CompletePeer(const SecurityFlags& flags, join::Peer* peer);

// --limit=BYTES per second, such as 50MB, by which a command is slowed down for whoever owns the
// database; 0 without it.
void AddLimitFlag(Parser* parser, uint64_t* bytes_per_second);

// --link=BYTES per second of the link, such as 125MB; 0 without it.
void AddLinkFlag(Parser* parser, uint64_t* bytes_per_second);

// Null for 0.
std::shared_ptr<rocksdb::RateLimiter> RateLimiterOf(uint64_t bytes_per_second);

// What goes with what: the first rule that is broken, as InvalidArgument.
struct Rule {
  bool broken;
  const char* remedy;
};
rocksdb::Status CheckRules(std::initializer_list<Rule> rules);

// gRPC that gets no memory for its threads waits for them without end when it shuts down. RocksDB
// 9.10 that gets none for a cache crashes.
rocksdb::Status CheckAddressSpace();

// What goes on while a command joins. Ctrl-C and the like end the joins, whatever they wait for
// (REQUIRES: an InterruptGuard lives as long). How far they are is told on stderr: by a line that
// changes, on a terminal and once it has taken two seconds; or by one line after another, if they
// are wanted in any case.
class JoinWatch {
 public:
  struct Words {
    std::string command;          // "rocksieve join"
    std::string doing;            // "joining"; empty: nothing is told
    std::string at_the_end = {};  // what goes on when all keys are done; may be empty
    bool always = false;
  };

  // Gives the options a canceller, and what tells this one how far it is.
  JoinWatch(Words words, join::JoinOptions* options);

 private:
  using Clock = std::chrono::steady_clock;

  void Run(join::Canceller canceller, const std::stop_token& over);
  void Show(bool terminal);
  // REQUIRES: mutex_ is held.
  std::string Text() const;

  const Words words_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  uint64_t expected_keys_ = 0, keys_ = 0, ranges_ = 0, bytes_ = 0;
  Progress line_;
  std::jthread thread_;  // the last one: it uses the others
};

}  // namespace rocksieve::tools
