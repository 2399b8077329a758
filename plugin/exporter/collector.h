// SPDX-License-Identifier: Apache-2.0
// What a program collects, as prometheus-cpp has it.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <rocksieve/metrics_exporter.h>

namespace rocksieve {

// Thread-safe.
class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(MetricsExporter::Collect collect) : collect_(std::move(collect)) {}

  // Nothing if the program's function throws.
  std::vector<prometheus::MetricFamily> Collect() const override;

  // The same as text, in Prometheus' exposition format 0.0.4.
  std::string Text() const;

 private:
  const MetricsExporter::Collect collect_;
  mutable std::mutex mutex_;  // held while collect_ runs
};

}  // namespace rocksieve
