#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "plugin/database/open_errors.h"
#include "plugin/database/read_only_env.h"
#include "tools/inspect/inspection.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr uint64_t kSeed = 20260103;
constexpr uint64_t kProbes = 1000000;
constexpr uint64_t kFewestProbes = 10000;  // per block

// Filters hash their keys, so that random bytes are as good as any missing key.
uint64_t CountPasses(const DecodedFilter& filter, uint64_t probes, std::mt19937_64* random) {
  uint64_t passes = 0;
  char key[16];
  for (uint64_t i = 0; i < probes; i++) {
    const uint64_t parts[2] = {(*random)(), i};
    std::memcpy(key, parts, sizeof(key));
    passes += filter.MayContain({key, sizeof(key)}) ? 1 : 0;
  }
  return passes;
}

Status CannotRead(const std::string& path, const Status& status) {
  const std::string what = "cannot inspect " + path + ": " + MessageOf(status);
  if (status.IsNotFound() || status.IsPathNotFound()) {
    return Status::InvalidArgument(what + "\nName a table file (*.sst) of a RocksDB database.");
  }
  if (status.IsCorruption()) {
    return Status::InvalidArgument(
        what +
        "\nIf its database can be read, RocksDB says more: ldb checkconsistency --db=DIR, or "
        "sst_dump --file=FILE --command=verify. Restore the file, or repair a copy of the "
        "database: ldb repair --db=COPY");
  }
  if (what.find("Permission denied") != std::string::npos) {
    return Status::InvalidArgument(what + "\nRun it as the user who owns the file, or on a copy.");
  }
  return Status::InvalidArgument(what);
}

}  // namespace

double Inspection::BitsPerEntry() const {
  const uint64_t entries = filter->entries();
  return entries == 0 ? 0 : 8 * static_cast<double>(filter->bytes()) / static_cast<double>(entries);
}

Status Inspect(const std::string& path, Inspection* result) {
  const Status status = TableFile::Open(ReadOnlyEnv(), path, &result->file);
  if (!status.ok()) return CannotRead(path, status);
  result->filter = std::make_unique<FileFilter>(*result->file);
  result->predicted_rate = result->filter->PredictedRate();
  std::mt19937_64 random(kSeed);
  double weights = 0, passes = 0;
  const auto& blocks = result->filter->blocks();
  for (const auto& block : blocks) {
    BlockMeasures measures;
    measures.predicted_rate = block->decoded.PredictedRate(block->entries);
    measures.load = block->decoded.Load(block->entries);
    if (block->decoded.kind != BlockKind::kUnknown) {
      measures.probes = std::max(kProbes / blocks.size(), kFewestProbes);
      measures.passes = CountPasses(block->decoded, measures.probes, &random);
      const auto weight = static_cast<double>(std::max<uint64_t>(block->entries, 1));
      weights += weight;
      passes +=
          weight * static_cast<double>(measures.passes) / static_cast<double>(measures.probes);
      result->probes += measures.probes;
    }
    result->blocks.push_back(std::move(measures));
  }
  if (weights > 0 && result->filter->CanBeAsked()) result->probed_rate = passes / weights;
  return status;
}

}  // namespace rocksieve::tools
