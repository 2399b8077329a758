// SPDX-License-Identifier: Apache-2.0
#include "tools/join/joining.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <rocksieve/join/join.h>

#include "support/progress.h"
#include "support/text.h"

namespace rocksieve::tools {

void AddSecurityFlags(Parser* parser, SecurityFlags* flags) {
  join::Credentials* credentials = &flags->credentials;
  AddText(parser, "--certs", &flags->certificates, "DIR",
          "what rocksieve certs made, or this side's part of it");
  AddText(parser, "--ca", &credentials->authority_file, "FILE",
          "who must have signed the other side's certificate. Default: ca.crt of --certs")
      ->group(kRareFlags);
  AddText(parser, "--cert", &credentials->certificate_file, "FILE",
          "the certificate of this side. Default: server.crt or client.crt of --certs")
      ->group(kRareFlags);
  AddText(parser, "--key", &credentials->key_file, "FILE",
          "its key. Default: beside the certificate")
      ->group(kRareFlags);
  Option* const insecure = parser->add_flag("--insecure", credentials->insecure,
                                                 "no TLS; only for addresses of this machine");
  parser
      ->add_flag("--insecure-network", credentials->insecure_network,
                 "with --insecure: also for other addresses, where anybody on the way reads and "
                 "changes everything")
      ->needs(insecure)
      ->group(kRareFlags);
  AddText(parser, "--token-file", &flags->token_file, "FILE",
          "secrets, one per line; serve takes any, join sends one");
}

void AddClientFlags(Parser* parser, SecurityFlags* flags, join::Peer* peer) {
  AddSecurityFlags(parser, flags);
  AddText(parser, "--server-name", &peer->server_name, "NAME",
          "that the server's certificate must have. Default: that of the address")
      ->group(kRareFlags);
}

join::Credentials CredentialsOf(const SecurityFlags& flags, const std::string& side) {
  join::Credentials credentials = flags.credentials;
  if (!flags.certificates.empty()) {
    std::error_code unknown;
    const std::string part = flags.certificates + "/" + side;
    const bool whole = std::filesystem::is_directory(part, unknown);
    const std::string& directory = whole ? part : flags.certificates;
    const auto in_directory = [&](const std::string& name, std::string* file) {
      if (file->empty()) *file = directory + "/" + name;
    };
    in_directory("ca.crt", &credentials.authority_file);
    in_directory(side + ".crt", &credentials.certificate_file);
    in_directory(side + ".key", &credentials.key_file);
  }
  return credentials;
}

rocksdb::Status ReadTokensOf(const SecurityFlags& flags, std::vector<std::string>* tokens) {
  if (flags.token_file.empty()) return rocksdb::Status::OK();
  return join::ReadTokens(flags.token_file, tokens);
}

rocksdb::Status CompletePeer(const SecurityFlags& flags, join::Peer* peer) {
  std::vector<std::string> tokens;
  const rocksdb::Status status = ReadTokensOf(flags, &tokens);
  if (!tokens.empty()) peer->token = tokens.front();
  peer->credentials = CredentialsOf(flags, "client");
  return status;
}

namespace {

// Least and most of a rate.
void AddRate(Parser* parser, const char* name, uint64_t* bytes_per_second, uint64_t least,
             uint64_t most, const char* description) {
  parser->add_option(name, *bytes_per_second, description)
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true) & CLI::Range(least, most))
      ->group(kRareFlags);
}

}  // namespace

void AddLimitFlag(Parser* parser, uint64_t* bytes_per_second) {
  AddRate(parser, "--limit", bytes_per_second, 64 << 10, std::numeric_limits<int64_t>::max() / 1000,
          "bytes per second that are read of the database here, such as 50MB. Default: no limit");
}

void AddLinkFlag(Parser* parser, uint64_t* bytes_per_second) {
  AddRate(
      parser, "--link", bytes_per_second, 1 << 10, join::JoinOptions::kMostLinkBytesPerSecond,
      "bytes per second of the link, each way, such as 125MB: to be quick on it, rather than to "
      "send little");
}

std::shared_ptr<rocksdb::RateLimiter> RateLimiterOf(uint64_t bytes_per_second) {
  constexpr int64_t kRefillMicroseconds = 100'000;
  constexpr int32_t kFairness = 10;
  if (bytes_per_second == 0) return nullptr;
  return std::shared_ptr<rocksdb::RateLimiter>(
      rocksdb::NewGenericRateLimiter(static_cast<int64_t>(bytes_per_second), kRefillMicroseconds,
                                     kFairness, rocksdb::RateLimiter::Mode::kReadsOnly));
}

rocksdb::Status CheckRules(std::initializer_list<Rule> rules) {
  for (const Rule& rule : rules) {
    if (rule.broken) return rocksdb::Status::InvalidArgument(rule.remedy);
  }
  return rocksdb::Status::OK();
}

rocksdb::Status CheckAddressSpace() {
  constexpr rlim_t kLeastBytes = 64 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kLeastBytes) {
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::InvalidArgument("joins need 64 MiB of address space, and the limit is " +
                                          std::to_string(limit.rlim_cur >> 10) +
                                          " KiB; raise it (ulimit -v)");
}

namespace {

constexpr std::chrono::milliseconds kLook(50), kDrawEvery(200);
constexpr std::chrono::seconds kFirst(2), kLineEvery(2);

}  // namespace

JoinWatch::JoinWatch(Words words, join::JoinOptions* options)
    : words_(std::move(words)), line_(words_.command) {
  options->keys_expected = [this](uint64_t keys) {
    const std::lock_guard<std::mutex> lock(mutex_);
    expected_keys_ += keys;
  };
  options->range_done = [this](const join::RangeSummary& range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_++;
    keys_ += range.local_keys;
    bytes_ += range.sent.total() + range.received.total();
  };
  options->note = [this](const std::string& note) {
    const std::lock_guard<std::mutex> lock(mutex_);
    line_.Clear();
    std::cerr << words_.command << ": " + note + "\n";
  };
  thread_ = std::jthread([this, canceller = options->canceller.emplace()](
                             const std::stop_token& over) { Run(canceller, over); });
}

std::string JoinWatch::Text() const {
  if (expected_keys_ == 0 && ranges_ == 0) return "reading this side";
  if (keys_ >= expected_keys_ && !words_.at_the_end.empty()) return words_.at_the_end;
  std::string text = Thousands(ranges_) + " ranges, " + Thousands(keys_) + " of about " +
                     Thousands(std::max(keys_, expected_keys_)) + " keys, " + Thousands(bytes_) +
                     " bytes";
  if (keys_ > 0 && keys_ < expected_keys_) {
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    const double left =
        passed.count() * static_cast<double>(expected_keys_ - keys_) / static_cast<double>(keys_);
    text += ", about " + Thousands(static_cast<uint64_t>(left + 1)) + " s left";
  }
  return text;
}

void JoinWatch::Run(join::Canceller canceller, const std::stop_token& over) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const bool shows = !words_.doing.empty() && (terminal || words_.always);
  Clock::time_point next = begin_ + kFirst;
  std::mutex mutex;
  std::unique_lock<std::mutex> lock(mutex);
  std::condition_variable_any end;
  while (!end.wait_for(lock, over, kLook, [&over] { return over.stop_requested(); })) {
    if (InterruptSignal() != 0) canceller.Cancel();
    if (!shows || Clock::now() < next) continue;
    next = Clock::now() + (terminal ? kDrawEvery : kLineEvery);
    Show(terminal);
  }
  // Whatever was quick; so that who asked for it sees it once.
  if (shows && !terminal) Show(terminal);
}

void JoinWatch::Show(bool terminal) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!terminal) {
    std::cerr << words_.command << ": " + Text() + "\n";
    return;
  }
  const std::chrono::duration<double> passed = Clock::now() - begin_;
  const bool known = expected_keys_ > 0 || ranges_ > 0;
  const bool at_end = known && keys_ >= expected_keys_ && !words_.at_the_end.empty();
  line_.Show({!known   ? "reading this side"
              : at_end ? words_.at_the_end
                       : words_.doing,
              keys_, std::max(keys_, expected_keys_),
              /*units_are_bytes=*/false, bytes_, passed.count()});
}

}  // namespace rocksieve::tools
