// SPDX-License-Identifier: Apache-2.0
// The spec rocksieve.auto, and amounts of memory in specs: "512MB", "1.5GiB", "4096B".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <rocksieve/filter_spec.h>

#include "lib/budget/allocation.h"

namespace rocksieve {

// A decimal number with its unit: B, kB, MB, GB, TB in steps of 1000, or KiB, MiB, GiB, TiB in
// steps of 1024; fractions of a byte are dropped. False for anything else, or more than 1000TB.
bool ParseByteSize(std::string_view text, uint64_t* bytes);

// The shortest text that reads back as the same number, without fractions: "512MB", "1536MiB".
std::string ByteSizeText(uint64_t bytes);

// The spec "rocksieve.auto:BUDGET[:FAMILIES][:OPTION]..." as a value: one budget for a whole tree.
//
//   rocksieve.auto:10                   10 bits per live entry, all filters of the tree together
//   rocksieve.auto:512MB                so many bytes, all filters of the tree together, however
//                                       many entries it comes to have (ParseByteSize())
//   rocksieve.auto:10:bloom+cuckoo      of these families only
//   rocksieve.auto:10:range             and filters that answer for ranges, if any are asked
//   rocksieve.auto:10:range:prefixes-8  options as in filter_spec.h, for range filters alone
//   rocksieve.auto:10:salted            options as in filter_spec.h, for each filter
//   rocksieve.auto:10:even              as if absent keys were distributed like the live ones,
//                                       wherever lookups go
//   rocksieve.auto:10:read-ns-200000    what things cost, in nanoseconds (CostModel): read-ns,
//                                       and FAMILY-ns of each family

struct AutoSpec {
  static constexpr double kMinBits = 1, kMaxBits = 32;
  static constexpr uint64_t kMinBytes = 1000;

  AutoSpec();

  double bits_per_entry = 10;
  uint64_t bytes = 0;            // the budget instead, unless 0
  std::vector<Family> families;  // sorted; all of HashedFamilies()
  // The family of filters that answer for ranges; kNone: there shall be none.
  Family range_family = Family::kNone;
  CostModel cost_model;
  bool even = false;  // lookups are taken to be distributed like the live keys, unheard
  // All but family, unit and amount; prefix_lengths and order_bytes with a range_family alone.
  FilterSpec options;

  // Whether a text is meant to be one, right or wrong: it begins with "rocksieve.auto".
  static bool IsMeant(std::string_view text);

  // As FilterSpec's.
  static std::string Parse(std::string_view text, AutoSpec* spec);
  std::string ToString() const;

  // That all filters of a tree of so many entries may have.
  double BudgetBytes(double entries) const;

  // Of filters for lookups; of filters for ranges. REQUIRES for the latter: a range_family.
  AllocatorOptions ForAllocator() const;
  AllocatorOptions ForRangeAllocator() const;

  // The spec to build a filter with that the allocator chose. REQUIRES: IsOurs(choice.family).
  FilterSpec SpecFor(const FilterChoice& choice) const;

  // No block of so many keys is larger, whatever the allocator chooses for it. Quick, as
  // rocksieve::MostBlockBytes() is.
  size_t MostBlockBytes(size_t keys) const;
};

// What a policy of ours is made of.
using OwnSpec = std::variant<FilterSpec, AutoSpec>;

// As the Parse() of either.
std::string ParseOwnSpec(std::string_view text, OwnSpec* spec);
std::string TextOf(const OwnSpec& spec);
// Whether some of its filters answer for ranges.
bool AnswersRanges(const OwnSpec& spec);

}  // namespace rocksieve
