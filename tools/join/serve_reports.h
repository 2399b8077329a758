// SPDX-License-Identifier: Apache-2.0
// What `serve` tells others: a line on stderr for each event, as text or as a JSON object; metrics
// for Prometheus; and how it is, systemd or what speaks its protocol.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <rocksieve/join/server.h>
#include <rocksieve/metrics.h>

#include "support/table.h"

namespace rocksieve::tools {

// Thread-safe.
class ServeLog {
 public:
  // `json`: objects, not text. `quiet`: without a line for each session.
  ServeLog(bool json, bool quiet) : json_(json), quiet_(quiet) {}

  void Session(const join::SessionSummary& session);
  // An event besides sessions, by one word and in a sentence. Level: "info", "warning" or "error".
  void Event(const char* level, const char* event, const std::string& message);

 private:
  // `words` follow the time.
  void Line(const Json& object, const std::string& words);

  const bool json_, quiet_;
  std::mutex mutex_;
};

// Of certificates and tokens.
struct Reloads {
  std::atomic<uint64_t> done = 0, failed = 0;
};

// docs/serve.md lists them.
std::vector<Metric> MetricsOf(const join::ServerCounters& counters, const Reloads& reloads);

// The service manager (sd_notify(3), sd_listen_fds(3)); without one nothing happens.

// Sockets that it passed to this process, as descriptors that are closed by exec(); once.
std::vector<int> InheritedSockets();

// How often it wants to hear that all is well; 0 if it does not ask.
std::chrono::microseconds WatchdogInterval();

// `status` is for people: "serving on 127.0.0.1:7420".
void TellReady(const std::string& status);
void TellReloading();
void TellStopping(const std::string& status);
void TellAlive();

// Writes "ready ADDRESS\n" for whoever started the process, and closes the descriptor; one of the
// standard streams is /dev/null from then on. False if it cannot be written.
bool WriteReady(int descriptor, const std::string& address);

}  // namespace rocksieve::tools
