// The parts of a query that all kernels share.
#pragma once

#include <cstdint>

#include "lib/ribbon/kernel.h"

namespace rocksieve::ribbon {

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

}  // namespace rocksieve::ribbon
