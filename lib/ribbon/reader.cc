// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/reader.h"

#include <algorithm>

#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {
namespace {

const uint8_t* PayloadOf(const FilterBlockInfo& info) {
  return reinterpret_cast<const uint8_t*>(info.payload.data());
}

// Where the directory of a payload of the general form ends; 0 if there is no room for it.
uint64_t ParseHead(Span<const uint8_t> payload, bool compact, Table* table) {
  uint64_t directory_end;
  if (compact) {
    const bool wide = (payload[0] & kCompactWideFlag) != 0;
    const uint64_t low_bytes_at = kCompactHeadBytes + (wide ? kCompactWideBytes : 0);
    table->buckets = uint64_t{payload[0]} % kCompactWideFlag + 1;
    table->layout.first_wide_group =
        wide ? LoadLittleEndian16(payload.data() + kCompactHeadBytes) : kNoWideGroups;
    table->directory = Directory::OfOneAnchor(payload[1], payload.data() + low_bytes_at);
    directory_end = low_bytes_at + table->buckets + 1;
  } else {
    table->buckets = LoadLittleEndian32(payload.data());
    table->layout.first_wide_group = LoadLittleEndian32(payload.data() + 4);
    table->directory = Directory(payload.data() + kPayloadHeadBytes, table->buckets);
    directory_end = kPayloadHeadBytes + DirectoryBytes(table->buckets);
  }
  return table->buckets != 0 && directory_end <= payload.size() ? directory_end : 0;
}

uint64_t LeastBytesOfGeneral(uint8_t parameter) {
  const uint64_t head =
      HasCompactHead(parameter) ? kCompactHeadBytes + 2 : kPayloadHeadBytes + DirectoryBytes(1);
  return head + static_cast<uint64_t>(kGroupsPerRow * ColumnsOf(parameter));
}

class SmallFilter final : public Filter {
 public:
  SmallFilter(const FilterBlockInfo& info, int slots)
      : Filter(info.salt, Ask),
        columns_(PayloadOf(info) + kSmallHeadBytes),
        slots_(slots),
        seed_(PayloadOf(info)[1]),
        column_count_(ColumnsOf(info.parameter)),
        reseed_(ReseedOf(info.parameter)) {}

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    for (size_t i = 0; i < count; i++) may_contain[i] = MayContainHash(hashes[i]);
  }

 private:
  static bool Ask(const Filter& filter, uint64_t hash) {
    const auto& self = static_cast<const SmallFilter&>(filter);
    hash = Reseeded(hash, self.reseed_);
    const uint64_t row = SmallRow(hash, self.seed_, self.slots_);
    const uint32_t fingerprint = Fingerprint(hash);
    for (int column = 0; column < self.column_count_; column++) {
      const uint64_t selected = SmallColumn(self.columns_, column, self.slots_) & row;
      if ((static_cast<uint32_t>(__builtin_popcountll(selected)) ^ (fingerprint >> column)) & 1) {
        return false;
      }
    }
    return true;
  }

  const uint8_t* const columns_;
  const int slots_, seed_, column_count_, reseed_;
};

class MatchAllFilter final : public Filter {
 public:
  explicit MatchAllFilter(uint64_t salt)
      : Filter(salt, [](const Filter&, uint64_t) { return true; }) {}
  void MayContainHashes(const uint64_t*, size_t count, bool* may_contain) const override {
    std::fill_n(may_contain, count, true);
  }
};

}  // namespace

void TableFilter::MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const {
  many_(*this, hashes, count, may_contain);
}

Form FormOf(const FilterBlockInfo& info) {
  const int columns = ColumnsOf(info.parameter);
  const size_t size = info.payload.size();
  if (info.parameter == 0 && size == 0) return Form::kMatchAll;
  if (columns < kMinColumns || columns > kMaxColumns) return Form::kDamaged;
  if (size >= LeastBytesOfGeneral(info.parameter)) return Form::kGeneral;
  if (HasCompactHead(info.parameter)) return Form::kDamaged;
  return size > kSmallHeadBytes ? Form::kSmall : Form::kDamaged;
}

bool ParseTable(const FilterBlockInfo& info, Table* table) {
  if (FormOf(info) != Form::kGeneral) return false;
  const Span<const uint8_t> payload(PayloadOf(info), info.payload.size());
  const uint64_t directory_end = ParseHead(payload, HasCompactHead(info.parameter), table);
  if (directory_end == 0) return false;
  GroupLayout& layout = table->layout;
  layout.columns = ColumnsOf(info.parameter);
  table->reseed = ReseedOf(info.parameter);
  table->group_bytes = payload.data() + directory_end;

  layout.groups = CountGroups(table->directory, table->buckets);
  if (layout.groups < kGroupsPerRow) return false;
  if (layout.columns == kMaxColumns && layout.has_wide_groups()) return false;
  if (layout.Byte(layout.groups) != payload.size() - directory_end) return false;

  table->is_fetched_ahead = payload.size() >= kLeastBytesAhead;
  table->last_unfolded = static_cast<int64_t>(layout.groups) - kGroupsPerRow;
  for (int wide : {0, 1}) {
    Zone& zone = table->zones[wide];
    zone.columns = static_cast<uint32_t>(layout.columns + wide);
    zone.mask = static_cast<uint32_t>((uint64_t{1} << zone.columns) - 1);
    zone.byte_shift = wide != 0 ? layout.first_wide_group : 0;
  }
  return true;
}

Width WidthOf(const Table& table) {
  const auto groups = static_cast<double>(table.layout.groups);
  const auto narrow = static_cast<double>(table.layout.first_wide_group);
  return {table.layout.columns, std::max(0.0, 1 - narrow / groups)};
}

double RateOf(const Table& table) {
  const auto groups = static_cast<int64_t>(table.layout.groups);
  const auto first_wide =
      static_cast<int64_t>(std::min(table.layout.first_wide_group, table.layout.groups));
  const auto is_wide = [&](int64_t group) { return Folded(group, groups) >= first_wide; };
  double wide_share = 0;
  for (uint64_t q = 0; q < table.buckets; q++) {
    const Bucket bucket = table.directory.At(q);
    const int64_t end = bucket.first_group + static_cast<int64_t>(bucket.groups);
    const int64_t wide = std::clamp(first_wide, bucket.first_group, end);
    const int64_t folded = std::clamp(table.last_unfolded + 1, wide, end);
    auto wide_rows = static_cast<double>(folded - wide);
    for (int64_t first = folded; first < end; first++) {
      for (int distance = 4; distance < kGroupsPerRow; distance++) {
        wide_rows += is_wide(first) && is_wide(first + 1) && is_wide(first + distance) ? 0.25 : 0;
      }
    }
    wide_share += wide_rows / static_cast<double>(bucket.groups);
  }
  return FalsePositiveRate(table.layout.columns, wide_share / static_cast<double>(table.buckets));
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel) {
  switch (FormOf(info)) {
    case Form::kMatchAll:
      return std::make_unique<MatchAllFilter>(info.salt);
    case Form::kSmall: {
      const int slots = PayloadOf(info)[0];
      if (slots < 1 || slots > static_cast<int>(kMaxSmallKeys) ||
          info.payload.size() != SmallPayloadBytes(ColumnsOf(info.parameter), slots)) {
        return nullptr;
      }
      return std::make_unique<SmallFilter>(info, slots);
    }
    case Form::kGeneral: {
      Table table;
      if (!ParseTable(info, &table)) return nullptr;
      return std::make_unique<TableFilter>(table, info.salt, kernel.queries_for(table));
    }
    case Form::kDamaged:
      break;
  }
  return nullptr;
}

}  // namespace rocksieve::ribbon
