// SPDX-License-Identifier: Apache-2.0
// Places all over the data of a column family, from which keys that are neighbours can be read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <rocksdb/iterator.h>
#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "plugin/probe/key_space.h"

namespace rocksieve {

// Over all keys in order, whatever filters there are; of the newest timestamps. REQUIRES: their
// order is known here.
class AllKeys {
 public:
  AllKeys(const Database& database, size_t family, const Tree& tree);
  AllKeys(const AllKeys&) = delete;
  AllKeys& operator=(const AllKeys&) = delete;

  rocksdb::Iterator* operator->() const { return keys_.get(); }
  rocksdb::Iterator* get() const { return keys_.get(); }

 private:
  const std::string latest_;
  const rocksdb::Slice timestamp_;  // a view of it
  std::unique_ptr<rocksdb::Iterator> keys_;
};

// Moves `keys` to about `count` places, and calls `take` at each with the number of pairs of
// neighbours to be read from there on: of small trees, all from the first key. Not OK if the data
// cannot be read. REQUIRES: its order is known here.
rocksdb::Status VisitPlaces(const Database& database, size_t family, const Tree& tree,
                            uint64_t count, rocksdb::Iterator* keys, Random* random,
                            const std::function<void(uint64_t pairs)>& take);

}  // namespace rocksieve
