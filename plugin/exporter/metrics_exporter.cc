// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/metrics_exporter.h>

#include <exception>
#include <string_view>

#include "plugin/exporter/outlet.h"
#include "plugin/exporter/start.h"

namespace rocksieve {
namespace {

constexpr std::string_view kFileSuffix = ".prom";  // node_exporter reads no others

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

MetricsExporter::MetricsExporter(std::unique_ptr<Outlet> outlet) : outlet_(std::move(outlet)) {}
MetricsExporter::~MetricsExporter() = default;

const std::string& MetricsExporter::target() const { return outlet_->target; }

std::string MetricsExporter::StartOrSay(const std::string& target, Collect collect,
                                        std::unique_ptr<MetricsExporter>* exporter) {
  const auto collector = std::make_shared<Collector>(std::move(collect));
  const auto start = [&](auto outlet) {
    std::string error = outlet->Start(target, collector);
    if (error.empty()) exporter->reset(new MetricsExporter(std::move(outlet)));
    return error;
  };
  if (target.find('/') == std::string::npos) return start(std::make_unique<HttpOutlet>());
  if (target[0] == '/' && EndsWith(target, kFileSuffix)) {
    return start(std::make_unique<FileOutlet>());
  }
  return "\"" + target + "\" is neither ADDRESS:PORT nor a file /DIR/NAME" +
         std::string(kFileSuffix) + ", by its whole path";
}

// What the plugin starts for ROCKSIEVE_METRICS.
struct ProcessExporter {
  static std::string Start(const char* target, void (*collect)(std::vector<Metric>*)) {
    std::unique_ptr<MetricsExporter> exporter;
    std::string error = MetricsExporter::StartOrSay(target, collect, &exporter);
    exporter.release();  // until the process ends
    return error;
  }
};

}  // namespace rocksieve

extern "C" ROCKSIEVE_EXPORT void rocksieve_start_process_exporter(
    const char* target, void (*collect)(std::vector<rocksieve::Metric>*), std::string* error) {
  try {
    const std::string why = rocksieve::ProcessExporter::Start(target, collect);
    if (!why.empty()) *error = why;
  } catch (const std::exception& exception) {
    *error = exception.what();
  }
}
