#include "lib/filter/family.h"

namespace rocksieve {
namespace {

constexpr const FamilyEntry* kFamilies[] = {&kBloomFamily, &kCuckooFamily, &kRibbonFamily};

}  // namespace

const FamilyEntry* FindFamily(std::string_view name) {
  for (const FamilyEntry* entry : kFamilies) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

const FamilyEntry* FindFamily(Family family) {
  for (const FamilyEntry* entry : kFamilies) {
    if (entry->family == family) return entry;
  }
  return nullptr;
}

std::string_view FamilyNames() { return "bloom, cuckoo, ribbon"; }

}  // namespace rocksieve
