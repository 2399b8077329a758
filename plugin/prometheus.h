// Prometheus' text exposition format, version 0.0.4, as far as counters need it.
// https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace rocksieve {

using MetricLabels = std::map<std::string, std::string>;

// Letters, digits and underscores, no digit first; names that begin with two underscores are
// Prometheus' own.
bool IsLabelName(std::string_view name);

// One metric after another, each with all its samples: the format has them together.
class PrometheusWriter {
 public:
  // Begins a metric; `type` is "counter" or "gauge".
  void Metric(std::string_view name, std::string_view type, std::string_view help);

  // A value of the metric that was begun last.
  void Sample(const MetricLabels& labels, double value);

  const std::string& text() const { return text_; }

 private:
  std::string name_, text_;
};

}  // namespace rocksieve
