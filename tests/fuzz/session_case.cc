// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/session_case.h"

#include <rocksieve/filter.h>

#include "lib/join/join_key/join_key_source.h"

namespace rocksieve::fuzz {
namespace {

using Rows = join::MemorySource::Rows;

constexpr uint64_t kMostKeys = 120;

std::string KeyOf(uint64_t i) { return "key" + std::to_string(1000 + i * 7 % 1009); }

std::string BlockOf(const std::vector<std::string>& keys) {
  FilterSpec spec;
  spec.family = Family::kRibbon;
  FilterBuilder builder(spec);
  for (const std::string& key : keys) builder.AddKey(key);
  return std::string(builder.Finish().view());
}

std::vector<join::ExistingFilter> FiltersOf(
    const std::map<std::string, std::vector<std::string>>& table, size_t count) {
  std::vector<join::ExistingFilter> filters;
  std::vector<std::string> keys;
  for (const auto& [key, values] : table) {
    keys.push_back(key);
    if (keys.size() < table.size() / count + 1 && key != table.rbegin()->first) continue;
    join::ExistingFilter filter;
    filter.smallest = keys.front();
    filter.largest = keys.back();
    filter.format = join::FilterFormat::kOurs;
    filter.block = BlockOf(keys);
    filters.push_back(std::move(filter));
    keys.clear();
  }
  return filters;
}

// An eighth of the keys have two rows, unless each shall have one.
void AddRows(uint64_t i, const char* side, bool unique, Rows* rows) {
  rows->emplace_back(KeyOf(i), side + std::to_string(i));
  if (i % 8 == 3 && !unique) rows->emplace_back(KeyOf(i), std::string(i, 'v'));
}

// A row that is joined on all of it. A third of those that both sides have are changed.
void AddWholeRow(uint64_t i, const char* side, bool equal, Rows* rows) {
  const std::string value =
      equal && i % 3 != 0 ? std::string(i % 5, 'v') : side + std::to_string(i);
  std::string join_key;
  join::WholeRowJoinKey({KeyOf(i), value}, &join_key);
  rows->emplace_back(std::move(join_key), value);
}

Rows AbsentRows(uint64_t count, const char* side) {
  Rows rows;
  for (uint64_t i = 0; i < count; i++) rows.emplace_back("", side + std::to_string(i));
  return rows;
}

}  // namespace

class CaseSource::Reader final : public join::ExistingFilterReader {
 public:
  explicit Reader(const std::vector<join::ExistingFilter>& filters) : filters_(filters) {}
  join::ExistingFilterOffer Offer() override {
    join::ExistingFilterOffer offer;
    offer.pass_rate = 0.01;
    for (const join::ExistingFilter& filter : filters_) {
      offer.bytes += filter.block.size() + 1;
      offer.formats |= join::BitOf(filter.format);
    }
    return offer;
  }
  bool Next(join::ExistingFilter* filter) override {
    if (next_ == filters_.size()) return false;
    *filter = filters_[next_++];
    return true;
  }

 private:
  const std::vector<join::ExistingFilter>& filters_;
  size_t next_ = 0;
};

CaseSource::CaseSource(Rows rows, Rows absent, size_t filters)
    : rows_(rows), absent_(absent), absent_count_(absent.size()) {
  for (const auto& [key, value] : rows) table_[key].push_back(value);
  if (filters > 0 && !table_.empty()) filters_ = FiltersOf(table_, filters);
}

std::unique_ptr<join::Cursor> CaseSource::Scan(const join::KeyInterval& interval) {
  return rows_.Scan(interval);
}

std::unique_ptr<join::Cursor> CaseSource::ScanAbsent() {
  return absent_count_ == 0 ? nullptr : absent_.Scan({});
}

std::unique_ptr<join::ExistingFilterReader> CaseSource::ExistingFilters(const join::KeyInterval&) {
  return filters_.empty() ? nullptr : std::make_unique<Reader>(filters_);
}

SessionCase::SessionCase(Choices* choices) {
  client.operation = static_cast<join::Operation>(1 + choices->UpTo(4));
  client.planner.strategy = static_cast<join::Strategy>(choices->UpTo(9));
  client.planner.most_round_trips = static_cast<int>(1 + choices->UpTo(6));
  client.salt = 1 + choices->UpTo(255);
  client.keys_per_range = 1 + choices->UpTo(0x3FF);
  server.most_keys_per_range = 1 + choices->UpTo(0x3FF);
  server.planner = client.planner;

  const uint64_t both = choices->UpTo(kMostKeys), only_here = choices->UpTo(kMostKeys / 4),
                 only_there = choices->UpTo(kMostKeys / 4);
  const uint8_t filters = choices->Byte(), others = choices->Byte();
  const bool compares = (others & 0x40) != 0;
  if (compares) {
    client.operation = join::Operation::kSymmetric;
    client.comparison = (others & 0x20) != 0 ? join::Comparison::kRows : join::Comparison::kKeys;
  }
  // No side has rows without a key then.
  client.keys_are_unique = compares || (others & 0x80) != 0;
  const uint8_t absent = client.keys_are_unique ? 0 : others % 16;
  Rows rows_here, rows_there;
  for (uint64_t i = 0; i < both + only_here + only_there; i++) {
    if (compares) {
      if (i < both + only_here) AddWholeRow(i, "here", i < both, &rows_here);
      if (i < both || i >= both + only_here) AddWholeRow(i, "there", i < both, &rows_there);
      continue;
    }
    if (i < both + only_here) AddRows(i, "here", client.keys_are_unique, &rows_here);
    if (i < both || i >= both + only_here) AddRows(i, "there", client.keys_are_unique, &rows_there);
  }
  here = std::make_unique<CaseSource>(rows_here, AbsentRows(absent % 4, "absent here"),
                                      filters % 8 < 4 ? 0 : filters % 4 + 1);
  there = std::make_unique<CaseSource>(rows_there, AbsentRows(absent / 4, "absent there"),
                                       filters / 8 % 8 < 4 ? 0 : filters / 8 % 4 + 1);
}

}  // namespace rocksieve::fuzz
