// SPDX-License-Identifier: Apache-2.0
// Serves the metrics of a policy for a moment.
#include <rocksieve/filter_policy.h>
#include <rocksieve/metrics_exporter.h>

#include <cstdio>
#include <memory>

int main() {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  rocksdb::Status status = rocksieve::NewFilterPolicy("rocksieve.bloom:10", &policy);
  std::unique_ptr<rocksieve::MetricsExporter> exporter;
  if (status.ok()) {
    status = rocksieve::MetricsExporter::Start(
        "127.0.0.1:0", std::vector<rocksieve::MetricsSource>{{policy.get(), nullptr, {}}}, &exporter);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("serves at %s\n", exporter->target().c_str());
}
