// SPDX-License-Identifier: Apache-2.0
#include "experiments/structures/key_set.h"

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/cuckoo_filter.h>

#include "experiments/structures/cuckoo_table.h"
#include "experiments/structures/hash_compaction.h"
#include "experiments/structures/hash_table.h"

namespace rocksieve {
namespace {

template <typename Set>
std::unique_ptr<KeySet> Wrap(Set set) {
  return std::make_unique<KeySetOf<Set>>(std::move(set));
}

}  // namespace

std::string_view KeySetName(KeySetKind kind) {
  switch (kind) {
    case KeySetKind::kHashTable:
      return "hash table";
    case KeySetKind::kCuckooTable:
      return "cuckoo hash table";
    case KeySetKind::kHashCompaction:
      return "hash compaction";
    case KeySetKind::kBloomFilter:
      return "Bloom filter";
    case KeySetKind::kCuckooFilter:
      return "cuckoo filter";
  }
  return "";
}

std::unique_ptr<KeySet> NewKeySet(KeySetKind kind, uint64_t keys, double false_positive_rate) {
  switch (kind) {
    case KeySetKind::kHashTable:
      return Wrap(HashTable(keys));
    case KeySetKind::kCuckooTable: {
      CuckooTableOptions options;
      options.keys = keys;
      return Wrap(CuckooTable(options));
    }
    case KeySetKind::kHashCompaction:
      return Wrap(HashCompaction(HashCompactionOptions::ForKeys(keys, false_positive_rate)));
    case KeySetKind::kBloomFilter:
      return Wrap(BloomFilter(BloomFilterOptions::ForKeys(keys, false_positive_rate)));
    case KeySetKind::kCuckooFilter:
      return Wrap(CuckooFilter(CuckooFilterOptions::ForKeys(keys, false_positive_rate)));
  }
  return nullptr;
}

}  // namespace rocksieve
