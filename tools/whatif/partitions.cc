#include "tools/whatif/partitions.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::tools {

uint64_t WantedPartitionBytes(const FilterOptions& options) {
  const uint64_t percent = 100 - static_cast<uint64_t>(options.partition_deviation_percent);
  return (options.partition_bytes * percent + 99) / 100;
}

Partitions PartitionsOf(const PlannedFile& file, const FilterOptions& options,
                        uint64_t wanted_keys) {
  const auto keys = static_cast<double>(file.filter_keys);
  const double keys_per_data_block =
      keys / std::max(1.0, static_cast<double>(file.properties.data_blocks));
  // The key that reaches the number stands somewhere in its data block.
  double keys_per_partition = static_cast<double>(wanted_keys) + keys_per_data_block / 2;
  if (file.index_entry_bytes > 0) {
    const double data_blocks =
        std::ceil(static_cast<double>(options.partition_bytes) / file.index_entry_bytes);
    keys_per_partition = std::min(keys_per_partition, data_blocks * keys_per_data_block);
  }
  const auto keys_full = static_cast<uint64_t>(std::max(1.0, std::round(keys_per_partition)));
  Partitions partitions;
  partitions.keys_full = keys_full;
  partitions.full = file.filter_keys / keys_full;
  partitions.keys_last = file.filter_keys % keys_full;
  const uint64_t count = partitions.full + (partitions.keys_last != 0 ? 1 : 0);
  // Its entries look like those of the index: a shortened key, and the place of a block.
  partitions.index_bytes = static_cast<double>(count) * file.index_entry_bytes;
  return partitions;
}

}  // namespace rocksieve::tools
