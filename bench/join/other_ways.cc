// SPDX-License-Identifier: Apache-2.0
#include "bench/join/other_ways.h"

#include <string>
#include <vector>

#include "lib/hash/key_hash128.h"
#include "lib/join/rows/key_list.h"

namespace rocksieve::bench {
namespace {

constexpr uint64_t kBitsPerKey = 10;
constexpr int kProbes = 7;  // 10 ln 2

class TextbookBloom {
 public:
  explicit TextbookBloom(const Keys& keys) : bits_(keys.size() * kBitsPerKey + 1) {
    for (const Key& key : keys) {
      Visit(key, [this](uint64_t bit) {
        bits_[bit] = true;
        return true;
      });
    }
  }

  bool MayContain(const Key& key) const {
    return Visit(key, [this](uint64_t bit) { return bits_[bit]; });
  }

  uint64_t bytes() const { return bits_.size() / 8 + 1; }

 private:
  // Until `at` says false.
  template <typename At>
  bool Visit(const Key& key, At at) const {
    const KeyHash128 hash = HashKey128(key.view(), 0);
    for (int probe = 0; probe < kProbes; probe++) {
      if (!at((hash.low + static_cast<uint64_t>(probe) * (hash.high | 1)) % bits_.size())) {
        return false;
      }
    }
    return true;
  }

  std::vector<bool> bits_;
};

}  // namespace

uint64_t ShippedBytes(const Keys& keys) {
  join::KeyListWriter writer;
  for (const Key& key : keys) writer.Add(key.view());
  std::string bytes;
  writer.Finish(&bytes);
  return bytes.size();
}

BloomJoin RunBloomJoin(const KeySets& sets) {
  const bool client_is_smaller = sets.client.size() <= sets.server.size();
  const Keys& sender = client_is_smaller ? sets.client : sets.server;
  const Keys& receiver = client_is_smaller ? sets.server : sets.client;
  const TextbookBloom filter(sender);
  Keys passed;
  for (const Key& key : receiver) {
    if (filter.MayContain(key)) passed.push_back(key);
  }
  BloomJoin join;
  join.bytes = filter.bytes() + ShippedBytes(passed);
  join.false_positives = passed.size() - sets.Common().size();
  return join;
}

}  // namespace rocksieve::bench
