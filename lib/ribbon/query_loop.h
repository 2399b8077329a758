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
  static bool Run(const Filter& filter, uint64_t hash) {
    const Table& table = static_cast<const TableFilter&>(filter).table();
    if constexpr (kReseeded) hash = Reseeded(hash, table.reseed);
    const Bucket bucket = BucketOf(table, hash);
    const Row row(hash, bucket.groups);
    const uint32_t fingerprint = Fingerprint(hash);
    const int64_t group = bucket.first_group + static_cast<int64_t>(row.FirstGroup(bucket.groups));
    if (!IsPlain<kMixedWidths>(table, group)) [[unlikely]] {
      return QueryAnyRow(table, row, group, fingerprint);
    }
    const bool wide = kMixedWidths && static_cast<uint64_t>(group) >= table.layout.first_wide_group;
    const Zone& zone = table.zones[wide];
    const uint8_t* first =
        table.group_bytes + (static_cast<uint64_t>(group) * zone.columns - zone.byte_shift);
    const uint8_t* third = first + row.ThirdGroupDistance() * zone.columns;
    return RowMatches<kManyColumns>(first, first + zone.columns, third, row.Coefficients(),
                                    fingerprint, zone);
  }
};

QueryFunction QueryFor(const Table& table) { return SelectQuery<QueryOf>(table); }
