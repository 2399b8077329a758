// SPDX-License-Identifier: Apache-2.0
// Looks at databases again and again, one at a time, in a thread of its own; what it saw last is
// there at any time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <rocksieve/metrics.h>

#include "tools/exporter/look_metrics.h"

namespace rocksieve::tools {

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

  // Starts no look, and waits for none.
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
