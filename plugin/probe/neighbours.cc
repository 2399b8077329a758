// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/neighbours.h"

#include <string>

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr int kMostSteps = 8;  // from a random place on, so that neighbours in a block count alike

}  // namespace

AllKeys::AllKeys(const Database& database, size_t family, const Tree& tree)
    : latest_(tree.family.comparator->timestamp_size(), '\xFF'), timestamp_(latest_) {
  rocksdb::ReadOptions read;
  read.total_order_seek = true;
  read.fill_cache = false;
  if (!latest_.empty()) read.timestamp = &timestamp_;
  keys_.reset(database.db()->NewIterator(read, database.handle(family)));
}

Status VisitPlaces(const Database& database, size_t family, const Tree& tree, uint64_t count,
                   rocksdb::Iterator* keys, Random* random,
                   const std::function<void(uint64_t pairs)>& take) {
  const KeySpace space(database, family, tree);
  if (tree.entries() <= count || space.empty()) {
    keys->SeekToFirst();
    take(count);
    return keys->status();
  }
  for (uint64_t i = 0; i < count && keys->status().ok(); i++) {
    keys->Seek(space.RandomPlace(random));
    for (int steps = static_cast<int>((*random)() % kMostSteps); steps > 0 && keys->Valid();
         steps--) {
      keys->Next();
    }
    if (!keys->Valid()) keys->SeekToLast();
    take(1);
  }
  return keys->status();
}

}  // namespace rocksieve
