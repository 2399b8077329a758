// SPDX-License-Identifier: Apache-2.0
// All that is known of a family outside of its folder; families.cc and range_family.cc have it.
//
// A new family is a folder, a FamilyEntry, and its line in family.cc. Nothing else asks which
// family it has before it: tests/python/layers_test.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/filter.h>

#include "lib/format/block.h"
#include "lib/format/payload.h"
#include "lib/hash/hash_set.h"
#include "lib/range/builder.h"

namespace rocksieve {

// The one number that tells how strong filters of a kind are.
struct FilterSetting {
  std::string unit;  // "probes", "columns", "fingerprint bits"; empty if there is none
  double value = 0;  // the mean, where a part of the filter has one more than the others
};

// What a filter says of itself to people.
struct FilterDescription {
  std::string parameters;  // "8 probes, 157 lines of 64 bytes"
  FilterSetting setting;
  std::string place;  // where a key may be: "line", "slot"; empty if there is nothing to say
  double places = 0;  // so many of them
};

// The part of a filter that is in use, counted.
struct FilterFill {
  std::string of;  // "probe bits set", "slots used"; empty if nothing can be counted
  double share = 0;
};

struct FamilyEntry {
  Family family;
  std::string_view name;  // as in a spec
  double min_bits_per_key, max_bits_per_key;
  double min_rate;  // that a spec may ask for
  // What a query costs in a filter of a million keys, hash included, on x86-64
  // (docs/performance.md).
  double probe_ns;
  // A filter of rate 2^-w takes about w * bits_per_halving + extra_bits for each key.
  double bits_per_halving, extra_bits;
  // A filter may become larger than expected by this factor.
  double most_size_factor = 1;
  // Apart from that, a part of it, a shard or a few groups, may grow by this share. Keys that were
  // chosen for it can make it grow more, and other parts as well.
  double most_part_growth = 0;
  double part_keys = 0;  // of such a part
  // Blocks of a file get the compact frame up to so many keys, and above kFewestCompactKeys.
  uint64_t most_compact_keys = 0;
  // The rate is 2^-n with n whole columns, a straight line between two such rates at sizes between,
  // and queries are quickest at whole columns.
  bool has_columns = false;
  // Specs may have the option `fast`.
  bool has_fast_build = false;

  // Of a filter of so many keys under this budget.
  double (*expected_payload_bits)(uint64_t keys, const Budget& budget);
  double (*expected_rate)(uint64_t keys, const Budget& budget);
  // Null, or a quick substitute for expected_rate: that of large filters of so many bits per key.
  double (*rate_of_large)(double bits_per_key, bool thorough) = nullptr;

  Payload (*build)(HashList hashes, const Budget& budget, size_t head_room, size_t tail_room);
  // Null, or what filters of keys are built with: `build` makes one that answers less. REQUIRES:
  // the keys are sorted and not empty. What the budget says is filled into the request.
  Payload (*build_of_keys)(const range::KeyList& keys, const Budget& budget, range::Request request,
                           size_t head_room, size_t tail_room) = nullptr;

  // Null if the payload cannot be what it says.
  std::unique_ptr<Filter> (*open)(const FilterBlockInfo& info);
  double (*rate_of_block)(const FilterBlockInfo& info);
  // See FilterBlock.
  double (*saturated_fraction)(const FilterBlockInfo& info);

  // For people. REQUIRES: open() takes the block.
  FilterDescription (*describe)(const FilterBlockInfo& info);
  // Null if nothing can be counted. Looks at the whole block.
  FilterFill (*count_fill)(const FilterBlockInfo& info) = nullptr;
};

extern const FamilyEntry kBloomFamily, kCuckooFamily, kRangeFamily, kRibbonFamily;

// Those of fewer keys would be shorter than the shortest block of the full frame.
inline constexpr uint64_t kFewestCompactKeys = 65;

inline FrameVersion FrameVersionFor(const FamilyEntry& family, uint64_t keys) {
  return keys >= kFewestCompactKeys && keys <= family.most_compact_keys ? FrameVersion::kCompact
                                                                        : FrameVersion::kFull;
}

// All. Only tests change them, and not while filters are built or opened.
std::vector<const FamilyEntry*>& Families();

// Null if there is none.
const FamilyEntry* FindFamily(std::string_view name);
const FamilyEntry* FindFamily(Family family);

// Those whose filters are built of hashes alone, so that one can take the place of another.
std::vector<const FamilyEntry*> HashedFamilies();

// "bloom, cuckoo, .."
std::string NamesOf(const std::vector<const FamilyEntry*>& families);
std::string FamilyNames();  // of all

}  // namespace rocksieve
