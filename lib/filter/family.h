// What the door to the filters needs to know of each family; each has a NAME_family.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <rocksieve/filter.h>

#include "lib/format/budget.h"
#include "lib/hash/hash_set.h"

namespace rocksieve {

struct FamilyEntry {
  Family family;
  std::string_view name;  // as in a spec
  double min_bits_per_key, max_bits_per_key;
  double min_rate;  // that a spec may ask for

  // Of a filter of so many keys under this budget.
  double (*expected_payload_bits)(uint64_t keys, const Budget& budget);
  double (*expected_rate)(uint64_t keys, const Budget& budget);

  // Builds a payload between head_room and tail_room bytes; returns its size, and the parameter
  // byte.
  std::unique_ptr<char[]> (*build)(HashList hashes, const Budget& budget, size_t head_room,
                                   size_t tail_room, size_t* payload_bytes, uint8_t* parameter);

  // Null if the payload cannot be what it says.
  std::unique_ptr<Filter> (*open)(const FilterBlockInfo& info);
  double (*rate_of_block)(const FilterBlockInfo& info);
  // See FilterBlock.
  double (*unfiltered_share)(const FilterBlockInfo& info);
};

extern const FamilyEntry kBloomFamily, kCuckooFamily, kRibbonFamily;

// Null if there is none.
const FamilyEntry* FindFamily(std::string_view name);
const FamilyEntry* FindFamily(Family family);

// "bloom, cuckoo, .."
std::string_view FamilyNames();

}  // namespace rocksieve
