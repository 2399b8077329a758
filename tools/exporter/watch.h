// SPDX-License-Identifier: Apache-2.0
// Looks at databases again and again, one at a time, in a thread of its own; what it saw last is
// there at any time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <rocksieve/metrics.h>

#include "support/progress.h"
#include "support/table.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {

// One look at a database, with what it cost: all that `explain` and `doctor` find out, from files
// that are opened once.
struct Look {
  std::string error;  // why the database cannot be looked at; empty: it can
  Json explanation;   // of `explain`
  Findings findings;  // of `doctor`
  // Whether the process that has the database open, if any, could be looked into as well.
  bool process_seen = false;

  double seconds = 0;
  uint64_t read_bytes = 0;   // asked of the system, cached there or not; 0 if it does not say
  double unix_time = 0;      // when it ended
  bool interrupted = false;  // by a signal: nothing of it counts
};

// What is known of one database.
struct WatchedDatabase {
  std::string directory;                    // as the user named it: the label db
  std::optional<Look> last;                 // nothing yet
  bool looking = false;                     // just now
  uint64_t looks = 0, failed_looks = 0;     // since the exporter began
  double look_seconds = 0, read_bytes = 0;  // of all of them
};

// Thread-safe. Reports on stderr: what cannot be opened, and findings that come and go.
class Watch {
 public:
  Watch(const std::vector<std::string>& directories, std::chrono::duration<double> between_looks);
  ~Watch() { Stop(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Looks at each database once; returns early if interrupted.
  void LookAtAll();

  // Begins a thread that does so at once, and again so long after the last look has ended.
  void Start();
  // Ends it, within a moment if interrupted. Else waits for a look.
  void Stop();

  // docs/metrics.md has them all. Starts no look, and waits for none.
  std::vector<Metric> Metrics() const;

 private:
  void Run();
  void LookAtOne(size_t number);

  const std::chrono::duration<double> between_looks_;
  Progress progress_;  // of the one thread that looks
  std::thread thread_;

  mutable std::mutex mutex_;  // guards all that follows; never held during a look
  std::condition_variable stop_;
  bool stopped_ = false;
  std::vector<WatchedDatabase> databases_;
};

}  // namespace rocksieve::tools
