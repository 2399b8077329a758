// SPDX-License-Identifier: Apache-2.0
// An exact set of keys in memory: std::unordered_set, with the verbs of the other types. The plain
// answer that everything else is measured against.
//
// Thread safety: const members from any number of threads at once, as long as none calls another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "lib/hash/key_hash.h"

namespace rocksieve {

class HashTable {
 public:
  // Room for so many keys from the start; more come in as well.
  explicit HashTable(uint64_t keys = 0) { keys_.reserve(keys); }

  // A key that is there already changes nothing.
  void Add(std::string_view key) {
    if (!keys_.contains(key)) keys_.emplace(key);
  }
  // Exact: whether it was added and not removed.
  bool MayContain(std::string_view key) const { return keys_.contains(key); }
  // False: it was not there.
  bool Remove(std::string_view key) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) return false;
    keys_.erase(found);
    return true;
  }

  uint64_t size() const { return keys_.size(); }
  // What is asked from the allocator, which takes some 8 to 16 bytes more for each key. Reads all
  // keys.
  size_t MemoryBytes() const {
    // libstdc++ and libc++ keep the next node and the hash beside each key.
    struct Node {
      void* next;
      size_t hash;
      std::string key;
    };
    const size_t inside_of_string = std::string().capacity();
    size_t bytes = sizeof(*this) + keys_.bucket_count() * sizeof(void*);
    for (const std::string& key : keys_) {
      bytes += sizeof(Node) + (key.capacity() > inside_of_string ? key.capacity() + 1 : 0);
    }
    return bytes;
  }

 private:
  struct Hash {
    using is_transparent = void;  // so that a query copies no key
    size_t operator()(std::string_view key) const { return static_cast<size_t>(HashKey(key, 0)); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> keys_;
};

}  // namespace rocksieve
