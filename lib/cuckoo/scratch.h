// Scratch memory that is used again for one shard after another.
#pragma once

#include <cstddef>
#include <vector>

namespace rocksieve::cuckoo {

// Resizes a vector whose contents need not survive: a longer one never takes the memory of two, as
// it would with resize(), and has some room for shards that are a little larger still.
template <typename T>
void ResizeScratch(size_t size, std::vector<T>* scratch) {
  if (scratch->capacity() < size) {
    *scratch = {};
    scratch->reserve(size + size / 16);
  }
  scratch->resize(size);
}

}  // namespace rocksieve::cuckoo
