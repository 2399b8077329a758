#include "lib/toolbox/hash_table.h"

#include "lib/hash/key_hash.h"

namespace rocksieve {

size_t HashTable::Hash::operator()(std::string_view key) const {
  return static_cast<size_t>(HashKey(key, 0));
}

void HashTable::Add(std::string_view key) {
  if (!keys_.contains(key)) keys_.emplace(key);
}

bool HashTable::MayContain(std::string_view key) const { return keys_.contains(key); }

bool HashTable::Remove(std::string_view key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return false;
  keys_.erase(found);
  return true;
}

size_t HashTable::MemoryBytes() const {
  // libstdc++ and libc++ keep the next node and the hash beside each key.
  struct Node {
    void* next;
    size_t hash;
    std::string key;
  };
  const size_t inside_of_string = std::string().capacity();
  size_t bytes = sizeof(*this) + keys_.bucket_count() * sizeof(void*) + keys_.size() * sizeof(Node);
  for (const std::string& key : keys_) {
    if (key.capacity() > inside_of_string) bytes += key.capacity() + 1;
  }
  return bytes;
}

}  // namespace rocksieve
