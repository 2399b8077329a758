// SPDX-License-Identifier: Apache-2.0
// Where metrics go: HTTP, or a file.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <prometheus/exposer.h>

#include <rocksieve/metrics_exporter.h>

#include "plugin/exporter/collector.h"

namespace rocksieve {

// Shows metrics while it lives.
class MetricsExporter::Outlet {
 public:
  virtual ~Outlet() = default;

  // As MetricsExporter has it.
  std::string target;
};

// prometheus-cpp's server, at /metrics.
class MetricsExporter::HttpOutlet final : public Outlet {
 public:
  // A sentence if the address cannot be had; else empty.
  std::string Start(const std::string& address, std::shared_ptr<Collector> collector);

 private:
  std::shared_ptr<Collector> collector_;          // prometheus-cpp does not own it
  std::unique_ptr<prometheus::Exposer> exposer_;  // the first to go
};

// A thread that writes the file.
class MetricsExporter::FileOutlet final : public Outlet {
 public:
  // Likewise, if the file cannot be written now. If it cannot be later, as on a full disk, it stays
  // as it was, and is tried again.
  std::string Start(const std::string& path, std::shared_ptr<Collector> collector);
  ~FileOutlet() override;

 private:
  void Run();
  std::string Write() const;

  std::shared_ptr<Collector> collector_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace rocksieve
