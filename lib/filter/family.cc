// SPDX-License-Identifier: Apache-2.0
#include "lib/filter/family.h"

#include <algorithm>

namespace rocksieve {
namespace {

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

}  // namespace

const std::vector<const FamilyEntry*>& AllFamilies() { return Families(); }

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

ScopedFamily::ScopedFamily(const FamilyEntry* entry) : entry_(entry) {
  Families().push_back(entry);
}

ScopedFamily::~ScopedFamily() {
  Families().erase(std::remove(Families().begin(), Families().end(), entry_), Families().end());
}

std::string NamesOf(const std::vector<const FamilyEntry*>& families) {
  std::string names;
  for (const FamilyEntry* entry : families) {
    names += (names.empty() ? "" : ", ") + std::string(entry->name);
  }
  return names;
}

std::string FamilyNames() { return NamesOf(Families()); }

}  // namespace rocksieve
