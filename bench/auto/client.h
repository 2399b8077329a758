// SPDX-License-Identifier: Apache-2.0
// What asks a database for keys, one by one or in batches, and counts the data blocks that it
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/options.h>

#include "integration/tree.h"

namespace rocksieve::bench {

struct Asking {
  size_t batch = 1;    // keys of a MultiGet(); 1: Get() asks for each
  bool mixed = false;  // every other batch is asked for by Get()
};

class Client {
 public:
  Client(rocksdb::DB* db, const rocksdb::ReadOptions& read, const Asking& asking)
      : db_(db), read_(read), asking_(asking) {}

  // Asks at once, or when a batch is full. Throws if the database says otherwise.
  void Ask(std::string key, bool is_present) {
    keys_.push_back({std::move(key), is_present});
    if (keys_.size() >= asking_.batch) Finish();
  }
  // Asks for what is left.
  void Finish();

  uint64_t data_blocks_read() const { return data_blocks_read_; }

 private:
  struct Key {
    std::string bytes;
    bool is_present;
  };

  void GetAll();
  void MultiGetAll();

  rocksdb::DB* const db_;
  const rocksdb::ReadOptions read_;
  const Asking asking_;
  std::vector<Key> keys_;
  uint64_t batches_ = 0, data_blocks_read_ = 0;
};

}  // namespace rocksieve::bench
