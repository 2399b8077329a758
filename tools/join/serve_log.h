// SPDX-License-Identifier: Apache-2.0
// What `serve` says on stderr: a line for each event, as text or as a JSON object.
#pragma once

#include <mutex>
#include <string>

#include <rocksieve/join/server.h>

#include "support/table.h"

namespace rocksieve::tools {

enum class LogFormat { kText, kJson };

// Thread-safe.
class ServeLog {
 public:
  // `quiet`: without a line for each session.
  ServeLog(LogFormat format, bool quiet) : format_(format), quiet_(quiet) {}

  void Session(const join::SessionSummary& session);
  // An event besides sessions, by one word and in a sentence. Level: "info", "warning" or "error".
  void Event(const char* level, const char* event, const std::string& message);

 private:
  // `words` follow the time.
  void Line(const Json& object, const std::string& words);

  const LogFormat format_;
  const bool quiet_;
  std::mutex mutex_;
};

}  // namespace rocksieve::tools
