// SPDX-License-Identifier: Apache-2.0
#include "tools/join/server_metrics.h"

#include <string>

namespace rocksieve::tools {
namespace {

using Type = Metric::Type;

Metric Single(const char* name, const char* help, Type type, double value) {
  return {name, help, type, {{{}, value}}};
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
  const auto total = [](const char* name, const char* help, double value) {
    return Single(name, help, Type::kCounter, value);
  };
  return {
      sessions,
      Single("rocksieve_serve_sessions", "Sessions under way.", Type::kGauge,
             static_cast<double>(counters.sessions)),
      Single("rocksieve_serve_silent_calls", "Calls of clients that have not said anything yet.",
             Type::kGauge, static_cast<double>(counters.silent_calls)),
      total("rocksieve_serve_received_bytes_total",
            "Bytes of messages received in sessions that have ended.",
            static_cast<double>(counters.bytes_received)),
      total("rocksieve_serve_sent_bytes_total",
            "Bytes of messages sent in sessions that have ended.",
            static_cast<double>(counters.bytes_sent)),
      total("rocksieve_serve_rows_sent_total",
            "Rows sent in sessions that have ended, those of repeated ranges as often.",
            static_cast<double>(counters.rows_sent)),
      total("rocksieve_serve_session_seconds_total", "Seconds of sessions that have ended.",
            counters.session_seconds),
      {"rocksieve_serve_reloads_total",
       "Attempts to read certificates and tokens again, by result.",
       Type::kCounter,
       {{{{"result", "done"}}, static_cast<double>(reloads.done)},
        {{{"result", "failed"}}, static_cast<double>(reloads.failed)}}}};
}

}  // namespace rocksieve::tools
