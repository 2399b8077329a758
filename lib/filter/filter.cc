// SPDX-License-Identifier: Apache-2.0
// Opens blocks of any family.
#include <rocksieve/filter.h>

#include "lib/filter/family.h"
#include "lib/format/block.h"
#include "lib/hash/key_hash.h"

namespace rocksieve {
namespace {

// The filter of no keys.
class EmptyFilter final : public Filter {
 public:
  explicit EmptyFilter(uint64_t salt)
      : Filter(salt, [](const Filter&, uint64_t) { return false; }) {}
  void MayContainHashes(const uint64_t*, size_t count, bool* may_contain) const override {
    for (size_t i = 0; i < count; i++) may_contain[i] = false;
  }
};

}  // namespace

uint64_t Filter::KeyHash(std::string_view key) const { return HashKey(key, salt_); }

OpenedFilter OpenFilter(std::string_view block) {
  OpenedFilter opened;
  const auto knows = [](Family family) { return FindFamily(family) != nullptr; };
  opened.state = ParseBlock(block, knows, &opened.info);
  if (opened.state != BlockState::kIntact) return opened;
  if (opened.info.key_count == 0 && opened.info.payload.empty()) {
    opened.filter = std::make_unique<EmptyFilter>(opened.info.salt);
  } else {
    opened.filter = FindFamily(opened.info.family)->open(opened.info);
  }
  if (opened.filter == nullptr) opened.state = BlockState::kDamaged;
  return opened;
}

double ExpectedFalsePositiveRate(const FilterBlockInfo& info) {
  return info.key_count == 0 ? 0 : FindFamily(info.family)->rate_of_block(info);
}

}  // namespace rocksieve
