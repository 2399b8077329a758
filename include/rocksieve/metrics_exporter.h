// SPDX-License-Identifier: Apache-2.0
// Metrics over HTTP for Prometheus, or in a file for node_exporter's textfile collector.
//
//   std::unique_ptr<rocksieve::MetricsExporter> exporter;
//   rocksdb::Status status = rocksieve::MetricsExporter::Start(
//       "127.0.0.1:9435", {{policy.get(), options.statistics.get(), {{"db", "users"}}}},
//       &exporter);
//
// A library of its own, rocksieve::exporter, since it brings prometheus-cpp with it. A program that
// has no code for it, and whose policy stands in an option string, is started with
// ROCKSIEVE_METRICS=127.0.0.1:9435 in its environment instead (docs/metrics.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/status.h>

#include "metrics.h"

namespace rocksieve {

// Serves until it is destroyed. Thread-safe. Its threads block all signals, and SIGPIPE does what
// it did before.
class ROCKSIEVE_EXPORT MetricsExporter {
 public:
  // Sets the metrics, each name once. Called by a thread of the exporter, one at a time; what it
  // throws is a metric less, and no end of the program.
  using Collect = std::function<void(std::vector<Metric>* metrics)>;

  // `target` is either of
  //   ADDRESS:PORT    GET /metrics there; port 0: any that is free. [ADDRESS] of IPv6, if civetweb
  //                   was built with it, which Debian's is not.
  //                   Neither TLS nor passwords: 127.0.0.1, or a network that may know.
  //   /DIR/NAME.prom  this file, written anew every 15 seconds, and complete whenever it is read.
  // InvalidArgument if it is neither, or the address cannot be had, or the file not be written: one
  // sentence, with a remedy.
  static rocksdb::Status Start(const std::string& target, Collect collect,
                               std::unique_ptr<MetricsExporter>* exporter) {
    const std::string error = StartOrSay(target, std::move(collect), exporter);
    return error.empty() ? rocksdb::Status::OK() : rocksdb::Status::InvalidArgument(error);
  }

  // What CollectMetrics() gives of the sources, whose policies and statistics must live longer; and
  // its errors.
  static rocksdb::Status Start(const std::string& target, std::vector<MetricsSource> sources,
                               std::unique_ptr<MetricsExporter>* exporter) {
    std::vector<Metric> metrics;
    const rocksdb::Status status = CollectMetrics(sources, &metrics);
    if (!status.ok()) return status;
    const auto collect = [sources = std::move(sources)](std::vector<Metric>* collected) {
      CollectMetrics(sources, collected).PermitUncheckedError();  // they were right before
    };
    return Start(target, collect, exporter);
  }

  ~MetricsExporter();
  MetricsExporter(const MetricsExporter&) = delete;
  MetricsExporter& operator=(const MetricsExporter&) = delete;

  // "127.0.0.1:9435", with the port that was found; of a file its path.
  const std::string& target() const;

 private:
  class Outlet;
  class HttpOutlet;
  class FileOutlet;
  friend struct ProcessExporter;

  // In words instead of RocksDB's status: the library serves every release.
  static std::string StartOrSay(const std::string& target, Collect collect,
                                std::unique_ptr<MetricsExporter>* exporter);
  explicit MetricsExporter(std::unique_ptr<Outlet> outlet);

  const std::unique_ptr<Outlet> outlet_;
};

}  // namespace rocksieve
