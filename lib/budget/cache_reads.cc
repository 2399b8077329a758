// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/cache_reads.h"

#include <algorithm>
#include <cmath>

namespace rocksieve {
namespace {

// What the cache takes for each block beside its bytes: a handle with its key, the object around
// the block, what the allocator rounds up (RocksDB 7.8; what fits `bench cache` best).
constexpr double kBytesPerBlock = 140;
// Of a block in a file, which is read with it: type and checksum.
constexpr double kTrailerBytes = 5;
// RocksDB asks how many keys a partition is to have before there is a decision on its bits, and a
// policy with a budget of bytes names those of so many; it wants partitions of nine tenths of
// metadata_block_size.
constexpr double kBitsOfPartitions = 10, kPartitionFill = 0.9;
// Of a partition in the index of partitions, its key apart from what it shares.
constexpr double kTopLevelEntryBytes = 30;

// Equal blocks: a lookup asks for each of them with this probability.
struct Blocks {
  double count, bytes, asked;

  double ReadsIf(double lookups_kept) const {
    return count * asked * std::exp(-asked * lookups_kept);
  }
};

// All blocks that compete for the cache; those that stay are left out, and the room with them.
struct Contents {
  std::vector<Blocks> filters, indexes;
  double filter_blocks = 0;  // without the indexes of partitions
  double pinned_bytes = 0;
  double data_per_lookup = 0;  // bytes of data blocks that come in
};

double InCache(double bytes) { return bytes + kBytesPerBlock; }

Contents ContentsOf(const std::vector<CachedFile>& files) {
  Contents contents;
  const auto add = [&contents](double bytes, double count, double top_bytes, bool top_pinned,
                               double asked, std::vector<Blocks>* all) {
    if (bytes <= 0) return;
    all->push_back({count, bytes / count, asked / count});
    if (top_bytes <= 0) return;
    if (top_pinned) {
      contents.pinned_bytes += InCache(top_bytes);
    } else {
      all->push_back({1, top_bytes, asked});
    }
  };
  for (const CachedFile& file : files) {
    const double passed = file.lookup_weight * file.rate;
    add(file.filter_bytes, file.filter_blocks, file.filter_top_bytes, file.top_levels_pinned,
        file.lookup_weight, &contents.filters);
    if (file.filter_bytes > 0) contents.filter_blocks += file.filter_blocks;
    add(file.index_bytes, file.index_blocks, file.index_top_bytes, file.top_levels_pinned, passed,
        &contents.indexes);
    contents.data_per_lookup += passed * InCache(file.data_block_bytes);
  }
  return contents;
}

// Bytes of filters and indexes that were asked for in so many lookups.
double AskedIn(const Contents& contents, double lookups) {
  double bytes = 0;
  for (const std::vector<Blocks>* all : {&contents.filters, &contents.indexes}) {
    for (const Blocks& blocks : *all) {
      bytes += blocks.count * InCache(blocks.bytes) * -std::expm1(-blocks.asked * lookups);
    }
  }
  return bytes;
}

// The number of lookups at which a function that rises with them reaches its aim.
template <typename Rises>
double LookupsUntil(const Rises& rises, double aim) {
  double low = std::log(1e-3), high = std::log(1e12);
  if (rises(std::exp(high)) <= aim) return std::exp(high);
  for (int step = 0; step < 50; step++) {
    const double middle = (low + high) / 2;
    (rises(std::exp(middle)) < aim ? low : high) = middle;
  }
  return std::exp(low);
}

// Shards are not filled evenly: one that has more filters than others, by a standard deviation, is
// still to hold them.
double RoomIn(const BlockCache& cache, const Contents& contents) {
  if (cache.shard_bits <= 0) return cache.bytes;
  const double per_shard = std::max(std::ldexp(contents.filter_blocks, -cache.shard_bits), 1e-9);
  return cache.bytes * std::max(0.5, 1 - 1 / std::sqrt(per_shard));
}

// For how many lookups a block of a filter or an index is kept after it was asked for.
double LookupsKept(const BlockCache& cache, const Contents& contents) {
  const double room = std::max(0.0, RoomIn(cache, contents) - contents.pinned_bytes);
  const double first_room = room * std::clamp(cache.high_pri_pool_ratio, 0.0, 1.0);
  const auto asked = [&](double lookups) { return AskedIn(contents, lookups); };
  const double in_first = LookupsUntil(asked, first_room);
  // Then it grows old beside the data.
  const double of_first = asked(in_first);
  const auto after_that = [&](double more) {
    return asked(in_first + more) - of_first + contents.data_per_lookup * more;
  };
  const double rest = std::max(0.0, room - std::max(first_room, of_first));
  return in_first + (rest > 0 ? LookupsUntil(after_that, rest) : 0);
}

}  // namespace

int UsualShardBits(uint64_t cache_bytes) {
  constexpr uint64_t kLeastShardBytes = 512 << 10;
  constexpr int kMostShardBits = 6;
  int bits = 0;
  while (bits < kMostShardBits && cache_bytes >> (bits + 1) >= kLeastShardBytes) bits++;
  return bits;
}

void CacheLayout::Cut(double filter_blocks, CachedFile* file) const {
  if (indexes_partitioned) {
    file->index_blocks = std::max(1.0, std::ceil(file->index_bytes / partition_bytes));
  }
  if (filters_partitioned) {
    // They are cut together.
    file->filter_blocks = std::max({1.0, std::ceil(filter_blocks), file->index_blocks});
    file->index_blocks = file->filter_blocks;
    file->filter_top_bytes = kTopLevelEntryBytes * file->filter_blocks;
  }
  if (indexes_partitioned) file->index_top_bytes = kTopLevelEntryBytes * file->index_blocks;
  file->top_levels_pinned = top_levels_pinned;
}

CacheReads ReadsThrough(const BlockCache& cache, const std::vector<CachedFile>& files) {
  const Contents contents = ContentsOf(files);
  const double kept = LookupsKept(cache, contents);
  CacheReads reads;
  const auto add = [&](const std::vector<Blocks>& all, double* count) {
    for (const Blocks& blocks : all) {
      const double missed = blocks.ReadsIf(kept);
      *count += missed;
      reads.bytes += missed * (blocks.bytes + kTrailerBytes);
    }
  };
  add(contents.filters, &reads.filters);
  add(contents.indexes, &reads.indexes);
  for (const CachedFile& file : files) {
    const double passed = file.lookup_weight * file.rate;
    reads.data += passed;
    reads.bytes += passed * (file.data_block_bytes + kTrailerBytes);
  }
  return reads;
}

std::vector<CachedFile> WithFilters(const CachedTree& tree,
                                    const std::vector<CachedFilter>& filters) {
  std::vector<BudgetedFile> ranges;
  ranges.reserve(tree.files.size());
  for (const UnfilteredFile& file : tree.files) ranges.push_back(file.file);
  const std::vector<double> weights = LookupWeights(ranges);
  std::vector<CachedFile> cached;
  cached.reserve(tree.files.size());
  for (size_t i = 0; i < tree.files.size(); i++) {
    const UnfilteredFile& of = tree.files[i];
    CachedFile file;
    file.lookup_weight = tree.lookup_share * (of.lookup_weight < 0 ? weights[i] : of.lookup_weight);
    file.rate = of.PassRate(filters[i].rate);
    file.filter_bytes = filters[i].bytes;
    file.data_block_bytes = of.data_block_bytes;
    if (tree.layout.indexes_cached) file.index_bytes = of.index_bytes;
    tree.layout.Cut(filters[i].blocks, &file);
    cached.push_back(file);
  }
  return cached;
}

std::vector<CachedFile> WithFilters(const Allocator& allocator, const CachedTree& tree,
                                    double budget_bytes) {
  std::vector<BudgetedFile> budgeted;
  budgeted.reserve(tree.files.size());
  double entries = 0;
  for (const UnfilteredFile& file : tree.files) {
    budgeted.push_back(file.file);
    if (file.file.budgeted) entries += static_cast<double>(file.file.entries);
  }
  AllocatorOptions policy = allocator.options();
  policy.bytes = static_cast<uint64_t>(std::max(1.0, budget_bytes));
  const std::vector<FilterChoice> choices = allocator.Ideal(budgeted, policy.BitsOf(entries));
  std::vector<CachedFilter> filters(budgeted.size());
  for (size_t i = 0; i < budgeted.size(); i++) {
    if (!budgeted[i].budgeted) continue;
    const auto keys = static_cast<double>(budgeted[i].filter_keys);
    filters[i].rate = choices[i].rate;
    filters[i].bytes = choices[i].bits_per_key * keys / 8;
    filters[i].blocks =
        kBitsOfPartitions / 8 * keys / (kPartitionFill * tree.layout.partition_bytes);
  }
  std::vector<CachedFile> cached = WithFilters(tree, filters);
  if (!tree.layout.filters_partitioned) return cached;
  // Each partition is a filter of its own, and its entry in their index is part of the budget.
  for (size_t i = 0; i < cached.size(); i++) {
    if (!budgeted[i].budgeted) continue;
    const double keys = static_cast<double>(budgeted[i].filter_keys) / cached[i].filter_blocks;
    const double bits = choices[i].bits_per_key - 8 * kTopLevelEntryBytes / std::max(1.0, keys);
    const FilterChoice partition = allocator.ChooseForPartition(static_cast<uint64_t>(keys), bits);
    cached[i].rate = tree.files[i].PassRate(partition.rate);
  }
  return cached;
}

CacheBudget BestBudget(const Allocator& allocator, const std::vector<CachedTree>& trees,
                       const BlockCache& cache) {
  constexpr double kMostOver = 1.03, kLeastShare = 0.05, kCoarse = 0.05, kFine = 0.01;
  const auto with = [&](double share) {
    CacheBudget budget;
    budget.bytes = share * cache.bytes;
    std::vector<CachedFile> cached;
    for (const CachedTree& tree : trees) {
      for (CachedFile& file : WithFilters(allocator, tree, tree.budget_share * budget.bytes)) {
        file.filter_bytes *= kMostOver;
        cached.push_back(file);
      }
    }
    budget.reads = ReadsThrough(cache, cached);
    return budget;
  };
  CacheBudget best = with(1);
  double best_share = 1;
  const auto search = [&](double first, double last, double step) {
    for (double share = first; share >= last; share -= step) {
      const CacheBudget budget = with(share);
      if (budget.reads.bytes > best.reads.bytes) continue;
      best = budget;
      best_share = share;
    }
  };
  search(1 - kCoarse, kLeastShare, kCoarse);
  search(std::min(1.0, best_share + kCoarse - kFine), best_share - kCoarse + kFine / 2, kFine);
  return best;
}

}  // namespace rocksieve
