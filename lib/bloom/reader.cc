// SPDX-License-Identifier: Apache-2.0
#include "lib/bloom/reader.h"

namespace rocksieve::bloom {
namespace {

class BloomFilter final : public LineArray {
 public:
  BloomFilter(const FilterBlockInfo& info, const Queries& queries)
      : LineArray(reinterpret_cast<const uint8_t*>(info.payload.data()),
                  info.payload.size() / kLineBytes, info.salt, queries.one),
        many_(queries.many) {}

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    many_(*this, hashes, count, may_contain);
  }

 private:
  decltype(Queries::many) const many_;
};

}  // namespace

std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel) {
  const uint64_t lines = info.payload.size() / kLineBytes;
  if (info.payload.size() % kLineBytes != 0 || lines == 0 || lines > UINT32_MAX) return nullptr;
  if (!IsProbeCount(ProbesOf(info.parameter))) return nullptr;
  return std::make_unique<BloomFilter>(info, kernel.queries_for(ProbesOf(info.parameter)));
}

}  // namespace rocksieve::bloom
