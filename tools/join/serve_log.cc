// SPDX-License-Identifier: Apache-2.0
#include "tools/join/serve_log.h"

#include <iostream>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

const char* NameOf(join::Operation operation) {
  switch (operation) {
    case join::Operation::kIntersection:
      return "intersection";
    case join::Operation::kDifference:
      return "difference";
    case join::Operation::kLocalOnly:
      return "local-only";
    case join::Operation::kSymmetric:
      return "symmetric";
    case join::Operation::kCount:
      return "count";
  }
  return "unknown";
}

Json DocumentOf(const join::SessionSummary& session) {
  const bool ok = session.status.ok();
  return {{"time", UtcNow()},
          {"level", ok ? "info" : "warning"},
          {"event", "session"},
          {"peer", session.peer},
          {"certificate", TextOrNull(session.certificate_name)},
          {"operation", session.operation ? Json(NameOf(*session.operation)) : Json()},
          {"outcome", ok                 ? "done"
                      : session.admitted ? "failed"
                                         : "refused"},
          {"error", ok ? Json() : Json(session.status.getState())},
          {"rows", session.rows_sent},
          {"received_bytes", session.bytes_received},
          {"sent_bytes", session.bytes_sent},
          {"seconds", session.seconds}};
}

// "ipv4:10.0.0.7:51712 (client): count: done, 0 rows, 1,234 bytes received, 567 sent, 0.12 s"
std::string WordsOf(const Json& session) {
  // The socket of a client on this machine has no name.
  return (session["peer"] == "unix:" ? "unix" : Filled("{peer}", session)) +
         Filled(session["certificate"].is_null() ? ": " : " ({certificate}): ", session) +
         Filled(session["operation"].is_null() ? "" : "{operation}: ", session) +
         (session["error"].is_null() ? std::string("done")
                                     : Filled("{outcome}: {error}", session)) +
         Filled(", {rows} rows, {received_bytes} bytes received, {sent_bytes} sent, {seconds:.2} s",
                session);
}

}  // namespace

void ServeLog::Session(const join::SessionSummary& session) {
  if (quiet_) return;
  const Json document = DocumentOf(session);
  Line(document, WordsOf(document));
}

void ServeLog::Event(const char* level, const char* event, const std::string& message) {
  Line({{"time", UtcNow()}, {"level", level}, {"event", event}, {"message", message}}, message);
}

void ServeLog::Line(const Json& object, const std::string& words) {
  const std::string line =
      format_ == LogFormat::kJson
          ? object.dump(-1, ' ', false, Json::error_handler_t::replace)
          : "rocksieve serve: " + object["time"].get<std::string>() + " " + words;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::cerr << line << std::endl;
}

}  // namespace rocksieve::tools
