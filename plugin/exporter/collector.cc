// SPDX-License-Identifier: Apache-2.0
#include "plugin/exporter/collector.h"

#include <prometheus/text_serializer.h>

namespace rocksieve {

std::vector<prometheus::MetricFamily> Collector::Collect() const {
  std::vector<Metric> metrics;
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    collect_(&metrics);
  } catch (...) {
    return {};
  }
  std::vector<prometheus::MetricFamily> families;
  for (const Metric& metric : metrics) {
    const bool counts = metric.type == Metric::Type::kCounter;
    prometheus::MetricFamily family;
    family.name = metric.name;
    family.help = metric.help;
    family.type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    for (const Metric::Sample& sample : metric.samples) {
      prometheus::ClientMetric converted;
      for (const auto& [name, value] : sample.labels) converted.label.push_back({name, value});
      (counts ? converted.counter.value : converted.gauge.value) = sample.value;
      family.metric.push_back(std::move(converted));
    }
    families.push_back(std::move(family));
  }
  return families;
}

std::string Collector::Text() const { return prometheus::TextSerializer().Serialize(Collect()); }

}  // namespace rocksieve
