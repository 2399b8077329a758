// SPDX-License-Identifier: Apache-2.0
#include "lib/bloom/reader.h"

#include <algorithm>

namespace rocksieve::bloom {
namespace {

class BloomFilter final : public LineArray {
 public:
  BloomFilter(const FilterBlockInfo& info, const Kernel& kernel)
      : LineArray(reinterpret_cast<const uint8_t*>(info.payload.data()),
                  info.payload.size() / kLineBytes, info.salt,
                  kernel.query_for(ProbesOf(info.parameter))) {}

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    constexpr size_t kAhead = 32;  // lines on their way at once; more than a core can have open
    for (size_t begin = 0; begin < count; begin += kAhead) {
      const size_t end = std::min(begin + kAhead, count);
      for (size_t i = begin; i < end; i++) {
        const uint8_t* line = LineOf(hashes[i]);
        __builtin_prefetch(line);
        __builtin_prefetch(line + kLineBytes - 1);  // blocks are not aligned to cache lines
      }
      for (size_t i = begin; i < end; i++) may_contain[i] = MayContainHash(hashes[i]);
    }
  }
};

}  // namespace

std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel) {
  const uint64_t lines = info.payload.size() / kLineBytes;
  if (info.payload.size() % kLineBytes != 0 || lines == 0 || lines > UINT32_MAX) return nullptr;
  if (!IsProbeCount(ProbesOf(info.parameter))) return nullptr;
  return std::make_unique<BloomFilter>(info, kernel);
}

}  // namespace rocksieve::bloom
