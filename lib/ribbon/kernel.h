// SPDX-License-Identifier: Apache-2.0
// The inner loops of the ribbon family, one implementation per instruction set, each in a file of
// its own (kernel_NAME.cc). All of them give the same answers and the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rocksieve/filter.h>

#include "lib/cpu/isa.h"
#include "lib/ribbon/elimination.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

// Groups of one width: group g begins at byte g * columns - byte_shift.
struct Zone {
  uint32_t columns = 0;
  uint32_t mask = 0;  // of as many fingerprint bits
  uint64_t byte_shift = 0;
};

// The payload of a block in its general form, opened and checked.
struct Table {
  Directory directory;
  const uint8_t* group_bytes = nullptr;
  uint64_t buckets = 0;
  int reseed = 0;
  GroupLayout layout;
  int64_t last_unfolded = 0;      // rows whose first group is at most this are not folded
  Zone zones[2];                  // narrow and wide
  bool is_fetched_ahead = false;  // so large that batches fetch groups ahead
};

// The filter given must be a TableFilter. May read up to 15 bytes past the last group.
struct Queries {
  bool (*one)(const Filter& table_filter, uint64_t hash);
  // Overlaps the memory accesses of all keys.
  void (*many)(const Filter& table_filter, const uint64_t* hashes, size_t count, bool* may_contain);
};

// What a query works on.
class TableFilter final : public Filter {
 public:
  TableFilter(const Table& table, uint64_t salt, const Queries& queries)
      : Filter(salt, queries.one), table_(table), many_(queries.many) {}

  const Table& table() const { return table_; }
  // Not here: no kernel's file may have the virtual functions.
  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override;

 private:
  const Table table_;
  decltype(Queries::many) const many_;
};

// The parts of a query that all kernels share.

inline Bucket BucketOf(const Table& table, uint64_t hash) {
  return table.directory.At(BucketIndex(hash, table.buckets));
}

// Whether a row whose first group is this one stays within the groups, and within one width.
template <bool kMixedWidths>
inline bool IsPlain(const Table& table, int64_t first_group) {
  if (first_group > table.last_unfolded) return false;
  // All groups of the row but the first may be wide.
  return !kMixedWidths ||
         static_cast<uint64_t>(first_group) - table.layout.first_wide_group + (kGroupsPerRow - 1) >=
             kGroupsPerRow - 1;
}

// Any row, slowly: those that are folded, and those whose groups have two widths, of which the
// lesser counts.
bool QueryAnyRow(const Table& table, const Row& row, int64_t first_group, uint32_t fingerprint);

template <typename Query>
Queries QueriesOf() {
  return {Query::One, Query::Many};
}

// The queries for a table, with what is known of it as constants.
template <template <bool kMixedWidths, bool kManyColumns, bool kReseeded> class QueryOf>
Queries SelectQueries(const Table& table) {
  const bool mixed = table.layout.has_wide_groups();
  const bool many = table.layout.columns + (mixed ? 1 : 0) > 16;
  if (table.reseed != 0) {
    return many ? QueriesOf<QueryOf<true, true, true>>() : QueriesOf<QueryOf<true, false, true>>();
  }
  if (mixed) {
    return many ? QueriesOf<QueryOf<true, true, false>>()
                : QueriesOf<QueryOf<true, false, false>>();
  }
  return many ? QueriesOf<QueryOf<false, true, false>>()
              : QueriesOf<QueryOf<false, false, false>>();
}

struct Kernel {
  const char* name;
  // The queries for a table: its number of columns, whether it has wide groups, and a reseed make
  // different loops.
  Queries (*queries_for)(const Table& table);
  // How a ChainElimination is solved.
  ChainElimination::BackSubstitution back_substitute;
  // If it is not null, builders use a BlockElimination instead.
  const BlockFunctions* blocks;
};

extern const Kernel kPortableKernel;
#if defined(__x86_64__)
extern const Kernel kSse2Kernel, kGfniKernel, kAvx512Kernel;
#elif defined(__aarch64__)
extern const Kernel kNeonKernel;
#endif

// AVX2 as such gains nothing, but where GFNI is there too, it is used. REQUIRES: isa is one of
// UsableIsas().
const Kernel& KernelFor(Isa isa);

// That of ActiveIsa().
const Kernel& ActiveKernel();

}  // namespace rocksieve::ribbon
