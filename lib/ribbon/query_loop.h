// SPDX-License-Identifier: Apache-2.0
// The query, around the comparison that each instruction set does in its own way; included by the
// kernels, inside of their target region and anonymous namespace, after they defined
//
//   // Whether the columns of three groups give the fingerprint. kManyColumns: there are more than
//   // 16 of them.
//   template <bool kManyColumns>
//   bool RowMatches(const uint8_t* first, const uint8_t* second, const uint8_t* third,
//                   uint32_t coefficients, uint32_t fingerprint, const Zone& zone);
//
// No include guard: each kernel compiles its own copy.

template <bool kMixedWidths, bool kManyColumns, bool kReseeded>
struct QueryOf {
  // Where a key's row is.
  struct Place {
    uint64_t hash = 0;
    uint64_t groups_of_bucket = 0;
    int64_t first_group = 0;
    Row row() const { return Row(hash, groups_of_bucket); }
  };

  static Place PlaceOf(const Table& table, uint64_t hash) {
    if constexpr (kReseeded) hash = Reseeded(hash, table.reseed);
    const Bucket bucket = BucketOf(table, hash);
    const uint64_t first = Row(hash, bucket.groups).FirstGroup(bucket.groups);
    return {hash, bucket.groups, bucket.first_group + static_cast<int64_t>(first)};
  }

  // REQUIRES: the row is plain, or its groups are only prefetched.
  static const Zone& ZoneOf(const Table& table, const Place& place) {
    return table.zones[kMixedWidths &&
                       static_cast<uint64_t>(place.first_group) >= table.layout.first_wide_group];
  }
  static const uint8_t* GroupAt(const Table& table, const Zone& zone, const Place& place) {
    return table.group_bytes +
           (static_cast<uint64_t>(place.first_group) * zone.columns - zone.byte_shift);
  }

  static bool Ask(const Table& table, const Place& place) {
    const Row row = place.row();
    const uint32_t fingerprint = Fingerprint(place.hash);
    if (!IsPlain<kMixedWidths>(table, place.first_group)) [[unlikely]] {
      return QueryAnyRow(table, row, place.first_group, fingerprint);
    }
    const Zone& zone = ZoneOf(table, place);
    const uint8_t* first = GroupAt(table, zone, place);
    const uint8_t* third = first + row.ThirdGroupDistance() * zone.columns;
    return RowMatches<kManyColumns>(first, first + zone.columns, third, row.Coefficients(),
                                    fingerprint, zone);
  }

  static bool One(const Filter& filter, uint64_t hash) {
    const Table& table = static_cast<const TableFilter&>(filter).table();
    return Ask(table, PlaceOf(table, hash));
  }

  // The groups of all rows are on their way before the first is looked at. The directory is small
  // enough to be in a cache.
  static void Many(const Filter& filter, const uint64_t* hashes, size_t count, bool* may_contain) {
    const Table& table = static_cast<const TableFilter&>(filter).table();
    if (!table.is_fetched_ahead) {
      for (size_t i = 0; i < count; i++) may_contain[i] = Ask(table, PlaceOf(table, hashes[i]));
      return;
    }
    Place places[kKeysAhead];
    for (size_t begin = 0; begin < count; begin += kKeysAhead) {
      const size_t rows = count - begin < kKeysAhead ? count - begin : kKeysAhead;
      for (size_t i = 0; i < rows; i++) {
        places[i] = PlaceOf(table, hashes[begin + i]);
        const Zone& zone = ZoneOf(table, places[i]);
        const uint8_t* first = GroupAt(table, zone, places[i]);
        __builtin_prefetch(first, 0, kAheadLocality);
        __builtin_prefetch(first + places[i].row().ThirdGroupDistance() * zone.columns, 0,
                           kAheadLocality);
      }
      for (size_t i = 0; i < rows; i++) may_contain[begin + i] = Ask(table, places[i]);
    }
  }
};

Queries QueriesFor(const Table& table) { return SelectQueries<QueryOf>(table); }
