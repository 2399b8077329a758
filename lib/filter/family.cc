// SPDX-License-Identifier: Apache-2.0
#include "lib/filter/family.h"

#include <rocksieve/filter.h>

#include "lib/format/block.h"
#include "lib/hash/key_hash.h"

namespace rocksieve {

// Never destroyed: background threads may build filters while the process exits.
std::vector<const FamilyEntry*>& Families() {
  static auto& families = *new std::vector<const FamilyEntry*>{
      &kBloomFamily,
      &kCuckooFamily,
      &kRibbonFamily,
      &kRangeFamily,
  };
  return families;
}

std::vector<const FamilyEntry*> HashedFamilies() {
  std::vector<const FamilyEntry*> hashed;
  for (const FamilyEntry* entry : Families()) {
    if (entry->build_of_keys == nullptr) hashed.push_back(entry);
  }
  return hashed;
}

const FamilyEntry* FindFamily(std::string_view name) {
  for (const FamilyEntry* entry : Families()) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

const FamilyEntry* FindFamily(Family family) {
  for (const FamilyEntry* entry : Families()) {
    if (entry->family == family) return entry;
  }
  return nullptr;
}

std::string NamesOf(const std::vector<const FamilyEntry*>& families) {
  std::string names;
  for (const FamilyEntry* entry : families) {
    names += (names.empty() ? "" : ", ") + std::string(entry->name);
  }
  return names;
}

std::string FamilyNames() { return NamesOf(Families()); }

// Opens blocks of any family.

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
