// SPDX-License-Identifier: Apache-2.0
#include "tools/join/serve_reports.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <string>

#include <systemd/sd-daemon.h>

#include "support/text.h"
#include "tools/join/joining.h"

namespace rocksieve::tools {
namespace {

Json OperationOf(const join::SessionSummary& session) {
  for (const auto& [name, operation] : kOperations) {
    if (session.operation == operation) return name;
  }
  return session.operation ? Json("unknown") : Json();
}

Json DocumentOf(const join::SessionSummary& session) {
  const bool ok = session.status.ok();
  return {{"time", UtcNow()},
          {"level", ok ? "info" : "warning"},
          {"event", "session"},
          {"peer", session.peer},
          {"certificate", TextOrNull(session.certificate_name)},
          {"operation", OperationOf(session)},
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
      json_ ? object.dump(-1, ' ', false, Json::error_handler_t::replace)
            : "rocksieve serve: " + object["time"].get<std::string>() + " " + words;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::cerr << line << std::endl;
}

namespace {

using Type = Metric::Type;

template <typename Number>
Metric Single(const char* name, const char* help, Number value, Type type = Type::kCounter) {
  return {name, help, type, {{{}, static_cast<double>(value)}}};
}

}  // namespace

std::vector<Metric> MetricsOf(const join::ServerCounters& counters, const Reloads& reloads) {
  Metric sessions = {"rocksieve_serve_sessions_total",
                     "Sessions that have ended, by outcome and status.",
                     Type::kCounter,
                     {}};
  const auto add = [&sessions](const char* outcome, const std::string& status, uint64_t count) {
    sessions.samples.push_back(
        {{{"outcome", outcome}, {"status", status}}, static_cast<double>(count)});
  };
  add("done", "ok", counters.done);
  for (const auto& [status, count] : counters.failed) add("failed", status, count);
  for (const auto& [status, count] : counters.refused) add("refused", status, count);
  return {
      sessions,
      Single("rocksieve_serve_sessions", "Sessions under way.", counters.sessions, Type::kGauge),
      Single("rocksieve_serve_silent_calls", "Calls of clients that have not said anything yet.",
             counters.silent_calls, Type::kGauge),
      Single("rocksieve_serve_received_bytes_total",
             "Bytes of messages received in sessions that have ended.", counters.bytes_received),
      Single("rocksieve_serve_sent_bytes_total",
             "Bytes of messages sent in sessions that have ended.", counters.bytes_sent),
      Single("rocksieve_serve_rows_sent_total",
             "Rows sent in sessions that have ended, those of repeated ranges as often.",
             counters.rows_sent),
      Single("rocksieve_serve_session_seconds_total", "Seconds of sessions that have ended.",
             counters.session_seconds),
      {"rocksieve_serve_reloads_total",
       "Attempts to read certificates and tokens again, by result.",
       Type::kCounter,
       {{{{"result", "done"}}, static_cast<double>(reloads.done)},
        {{{"result", "failed"}}, static_cast<double>(reloads.failed)}}}};
}

namespace {

void Notify(const std::string& state) { sd_notify(/*unset_environment=*/0, state.c_str()); }

// As RELOADING=1 needs it.
uint64_t MonotonicMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

// The numbers of standard streams stay taken: a connection that had one of them would get what is
// logged.
bool Close(int descriptor) {
  if (descriptor > STDERR_FILENO) return close(descriptor) == 0;
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return false;
  const bool replaced = dup2(nothing, descriptor) >= 0;
  close(nothing);
  return replaced;
}

}  // namespace

std::vector<int> InheritedSockets() {
  std::vector<int> sockets;
  const int count = sd_listen_fds(/*unset_environment=*/1);
  for (int i = 0; i < count; i++) sockets.push_back(SD_LISTEN_FDS_START + i);
  return sockets;
}

std::chrono::microseconds WatchdogInterval() {
  uint64_t microseconds = 0;
  const bool asked = sd_watchdog_enabled(/*unset_environment=*/0, &microseconds) > 0;
  return std::chrono::microseconds(asked ? microseconds : 0);
}

void TellReady(const std::string& status) { Notify("READY=1\nSTATUS=" + status); }

void TellReloading() {
  Notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(MonotonicMicroseconds()));
}

void TellStopping(const std::string& status) { Notify("STOPPING=1\nSTATUS=" + status); }

void TellAlive() { Notify("WATCHDOG=1"); }

bool WriteReady(int descriptor, const std::string& address) {
  const std::string line = "ready " + address + "\n";
  ssize_t written = -1;
  do {
    written = write(descriptor, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  return Close(descriptor) && written == static_cast<ssize_t>(line.size());
}

}  // namespace rocksieve::tools
