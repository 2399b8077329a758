#include "whatif/partitions.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::tools {
namespace {

// What the index takes for a partition besides its key: three lengths, offset and size of the
// partition, and a restart point.
constexpr double kEntryBytes = 3 + 6 + 4;

}  // namespace

uint64_t WantedPartitionBytes(const FilterOptions& options) {
  const uint64_t percent = 100 - static_cast<uint64_t>(options.partition_deviation_percent);
  return (options.partition_bytes * percent + 99) / 100;
}

Partitions PartitionsOf(const PlannedFile& file, const FilterOptions& options,
                        uint64_t wanted_keys) {
  const auto keys = static_cast<double>(file.filter_keys);
  const double keys_per_data_block =
      keys / std::max(1.0, static_cast<double>(file.data_blocks));
  // The key that reaches the number stands somewhere in its data block.
  double keys_per_partition = static_cast<double>(wanted_keys) + keys_per_data_block / 2;
  if (file.index_entry_bytes > 0) {
    const double data_blocks =
        std::ceil(static_cast<double>(options.partition_bytes) / file.index_entry_bytes);
    keys_per_partition = std::min(keys_per_partition, data_blocks * keys_per_data_block);
  }
  Partitions partitions;
  partitions.count = std::max(1.0, std::ceil(keys / std::max(1.0, keys_per_partition)));
  partitions.keys = std::max<uint64_t>(1, std::llround(keys / partitions.count));
  partitions.index_bytes = partitions.count * (file.key_bytes + kEntryBytes);
  return partitions;
}

}  // namespace rocksieve::tools
