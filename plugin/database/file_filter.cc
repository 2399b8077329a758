// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/file_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugin/database/open_errors.h"

namespace rocksieve {
namespace {

std::string DamageOf(const DecodedFilter& filter) {
  switch (filter.kind) {
    case BlockKind::kDamaged:
      return "it is not as rocksieve wrote it";
    case BlockKind::kFutureVersion:
      return "a later version of rocksieve wrote it";
    case BlockKind::kMatchesAll:
      return "RocksDB cannot read it";
    default:
      return "";
  }
}

}  // namespace

FileFilter::FileFilter(const TableFile& file) : properties_(file.properties()) {
  const rocksdb::Status found = file.FindFilter(&places_);
  if (!found.ok()) {
    index_damaged_ = true;
    problems_.push_back(MessageOf(found));
  }
  bytes_ = places_.layout == FilterLayout::kNone ? 0 : places_.top.size;
  uint64_t block_bytes = 0;
  for (const FilterPartition& partition : places_.partitions) {
    block_bytes += partition.place.size;
  }
  if (places_.layout == FilterLayout::kPartitioned) bytes_ += block_bytes;

  // Releases before 7.3 do not say how many entries the filter has.
  const auto entries = static_cast<double>(
      properties_.filter_entries > 0 ? properties_.filter_entries : properties_.entries);
  // Of the first so many bytes: differences of these add up to all entries.
  const auto entries_in = [&](uint64_t bytes) {
    return static_cast<uint64_t>(
        std::llround(entries * static_cast<double>(bytes) /
                     static_cast<double>(std::max<uint64_t>(block_bytes, 1))));
  };
  uint64_t bytes_so_far = 0;
  for (const FilterPartition& partition : places_.partitions) {
    auto block = std::make_unique<FilterBlockOfFile>();
    block->partition = partition;
    const rocksdb::Status read = file.ReadFilterBlock(partition.place, &block->bytes);
    block->decoded = DecodedFilter::Decode(block->bytes, places_.stored_name);
    if (!read.ok()) {
      block->damage = MessageOf(read);
      block->decoded = DecodedFilter();
      block->decoded.kind = BlockKind::kDamaged;
    } else {
      block->damage = DamageOf(block->decoded);
      if (!block->damage.empty()) {
        block->damage = "the block at offset " + std::to_string(partition.place.offset) + " (" +
                        std::to_string(partition.place.size) + " bytes): " + block->damage;
      }
    }
    const uint64_t bytes_before = bytes_so_far;
    bytes_so_far += partition.place.size;
    block->entries = block->decoded.kind == BlockKind::kOurs
                         ? block->decoded.info.key_count
                         : entries_in(bytes_so_far) - entries_in(bytes_before);
    if (!block->damage.empty()) problems_.push_back(block->damage);
    blocks_.push_back(std::move(block));
  }
  if (places_.layout == FilterLayout::kObsolete) {
    problems_.push_back(
        "its filter has one part per data block, which RocksDB 7.0 and later do "
        "not read: compact the file");
  }
}

uint64_t FileFilter::entries() const {
  uint64_t sum = 0;
  for (const auto& block : blocks_) sum += block->entries;
  return sum;
}

double FileFilter::PredictedRate() const {
  double passes = 0, entries = 0;
  for (const auto& block : blocks_) {
    const double rate = block->decoded.PredictedRate(block->entries);
    if (std::isnan(rate)) return rate;
    // An empty one is asked about the few keys between its neighbours.
    const auto weight = static_cast<double>(std::max<uint64_t>(block->entries, 1));
    passes += weight * rate;
    entries += weight;
  }
  return entries == 0 || index_damaged_ ? 1 : passes / entries;
}

bool FileFilter::CanBeAsked() const {
  return std::none_of(blocks_.begin(), blocks_.end(),
                      [](const auto& block) { return block->decoded.kind == BlockKind::kUnknown; });
}

const FilterBlockOfFile& FileFilter::BlockFor(const ColumnFamily& family,
                                              std::string_view key) const {
  const auto found = std::lower_bound(
      blocks_.begin(), blocks_.end() - 1, key, [&](const auto& block, std::string_view wanted) {
        const std::string_view last_key = block->partition.last_key;
        return family.Compare(
                   properties_.timestamps_persisted ? family.WithoutTimestamp(last_key) : last_key,
                   wanted) < 0;
      });
  return **found;
}

bool FileFilter::MayContain(const ColumnFamily& family, std::string_view key) const {
  std::string_view entry;
  if (blocks_.empty() || index_damaged_) return true;
  if (!family.EntryToAsk(properties_, key, &entry)) return true;
  return BlockFor(family, key).decoded.MayContain(entry);
}

bool FileFilter::IsAskedForRanges(const ColumnFamily& family) const {
  return !blocks_.empty() && !index_damaged_ &&
         family.comparator.get() == rocksdb::BytewiseComparator() && properties_.HearsRanges() &&
         properties_.HasExtractor(family.prefix_extractor_name);
}

bool FileFilter::MayContainRange(const ColumnFamily& family, std::string_view begin,
                                 std::string_view end) const {
  return BlockFor(family, begin).decoded.MayContainRange(begin, end);
}

double FileFilter::PredictedRangeRate(const ColumnFamily& family, const EmptyRange& range) const {
  return BlockFor(family, range.begin).decoded.PredictedRangeRate(range);
}

const FilterBlockOfFile* FileFilter::Largest() const {
  const FilterBlockOfFile* largest = nullptr;
  for (const auto& block : blocks_) {
    if (largest == nullptr || block->entries > largest->entries) largest = block.get();
  }
  return largest;
}

std::string FileFilter::Family() const {
  if (places_.layout == FilterLayout::kNone) return "none";
  if (places_.layout == FilterLayout::kObsolete) return "RocksDB block-based";
  return Largest() == nullptr ? "damaged" : Largest()->decoded.Family();
}

std::string FileFilter::Parameters() const {
  const FilterBlockOfFile* const largest = Largest();
  if (largest == nullptr) return "";
  const std::string parameters = largest->decoded.Parameters();
  if (places_.layout != FilterLayout::kPartitioned) return parameters;
  return std::to_string(blocks_.size()) + " partitions, the largest with " + parameters;
}

}  // namespace rocksieve
