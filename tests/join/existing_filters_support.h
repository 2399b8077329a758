// SPDX-License-Identifier: Apache-2.0
// Sources in memory with existing filters, made by hand.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <rocksieve/filter.h>

#include "lib/join/operation.h"
#include "lib/join/rows/existing_filter.h"
#include "tests/join/support.h"

namespace rocksieve::join {

// Stands for RocksDB's formats: a bitmap of hashes, without a check word.
inline constexpr size_t kTestBits = 1 << 16;

inline size_t TestBitOf(std::string_view key) {
  return std::hash<std::string_view>()(key) % kTestBits;
}

class TestBuiltinFilter final : public KeyFilter {
 public:
  explicit TestBuiltinFilter(std::string_view block) : block_(block) {}
  bool MayContain(std::string_view key) const override {
    const size_t bit = TestBitOf(key);
    return (block_[bit / 8] >> bit % 8 & 1) != 0;
  }

 private:
  const std::string_view block_;
};

inline std::unique_ptr<KeyFilter> DecodeTestBuiltin(std::string_view block) {
  if (block.size() != kTestBits / 8) return nullptr;
  return std::make_unique<TestBuiltinFilter>(block);
}

inline std::string BlockOf(const std::string& spec_text, const std::vector<std::string>& keys) {
  FilterSpec spec;
  EXPECT_EQ(FilterSpec::Parse(spec_text, &spec), "");
  FilterBuilder builder(spec);
  for (const std::string& key : keys) builder.AddKey(key);
  return std::string(builder.Finish().view());
}

inline std::string TestBuiltinBlockOf(const std::vector<std::string>& keys) {
  std::string block(kTestBits / 8, '\0');
  for (const std::string& key : keys) {
    const size_t bit = TestBitOf(key);
    block[bit / 8] = static_cast<char>(block[bit / 8] | 1 << bit % 8);
  }
  return block;
}

inline ExistingFilter FilterOf(const std::string& kind,
                               const std::vector<std::string>& sorted_keys) {
  ExistingFilter filter;
  filter.smallest = sorted_keys.front();
  filter.largest = sorted_keys.back();
  if (kind == "none") return filter;
  filter.format = kind == "builtin" ? FilterFormat::kRocksDbBuiltin : FilterFormat::kOurs;
  filter.block = kind == "builtin"   ? TestBuiltinBlockOf(sorted_keys)
                 : kind == "damaged" ? "rocksieve?" + std::string(100, 'x')
                                     : BlockOf(kind, sorted_keys);
  return filter;
}

class ExistingFilterSource final : public Source {
 public:
  ExistingFilterSource(Table rows, std::vector<ExistingFilter> filters)
      : rows_(std::move(rows)), filters_(std::move(filters)) {
    std::stable_sort(filters_.begin(), filters_.end(),
                     [](const auto& a, const auto& b) { return a.smallest < b.smallest; });
  }

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return rows_.Scan(interval);
  }
  uint64_t EstimateKeys() override { return rows_.EstimateKeys(); }
  std::unique_ptr<ExistingFilterReader> ExistingFilters(const KeyInterval&) override {
    if (filters_.empty()) return nullptr;
    return std::make_unique<Reader>(this);
  }

  double pass_rate = 0.05;
  size_t fails_after = SIZE_MAX;  // filters

 private:
  class Reader final : public ExistingFilterReader {
   public:
    explicit Reader(ExistingFilterSource* source) : source_(source) {}
    ExistingFilterOffer Offer() override {
      ExistingFilterOffer offer;
      offer.pass_rate = source_->pass_rate;
      for (const ExistingFilter& filter : source_->filters_) {
        offer.bytes += filter.block.size() + 1;
        offer.formats |= BitOf(filter.format);
      }
      return offer;
    }
    bool Next(ExistingFilter* filter) override {
      if (failed() || next_ == source_->filters_.size()) return false;
      *filter = source_->filters_[next_++];
      return true;
    }
    bool failed() const override { return next_ >= source_->fails_after; }

   private:
    ExistingFilterSource* const source_;
    size_t next_ = 0;
  };

  MemorySource rows_;
  std::vector<ExistingFilter> filters_;
};

// As many files as there are kinds, each of a random part of the keys, and of keys that are gone.
inline std::vector<ExistingFilter> FilesOf(const Table& rows, const std::vector<std::string>& kinds,
                                           std::mt19937_64* random) {
  std::vector<std::vector<std::string>> files(kinds.size());
  for (const std::string& key : KeysOf(rows)) {
    files[(*random)() % files.size()].push_back(key);
    if ((*random)() % 4 == 0) files[(*random)() % files.size()].push_back(key);  // an old version
    if ((*random)() % 8 == 0) files[(*random)() % files.size()].push_back(key + "gone");
  }
  std::vector<ExistingFilter> filters;
  for (size_t i = 0; i < files.size(); i++) {
    std::sort(files[i].begin(), files[i].end());
    if (!files[i].empty()) filters.push_back(FilterOf(kinds[i], files[i]));
  }
  return filters;
}

inline Joined JoinWithExistingFilters(Operation operation, Source* here, Source* there,
                                      const Settings& settings = {},
                                      Strategy strategy = Strategy::kSstFilters,
                                      uint64_t most_filter_bytes = uint64_t{64} << 20) {
  Collector collector;
  ClientSessionOptions client_options;
  client_options.operation = operation;
  client_options.salt = 4711;
  client_options.keys_per_range = settings.keys_per_range;
  client_options.planner = settings.planner;
  client_options.planner.strategy = strategy;
  client_options.existing.decode_builtin = DecodeTestBuiltin;
  client_options.existing.most_bytes = most_filter_bytes;
  ServerSessionOptions server_options;
  server_options.most_keys_per_range = settings.most_keys_per_range;
  server_options.planner = client_options.planner;
  server_options.existing = client_options.existing;
  ClientSession client(here, &collector, client_options);
  ServerSession server(there, server_options);
  Joined joined;
  joined.piped = RunPipe(&client, &server, settings.tamper);
  joined.result = collector.result();
  std::sort(joined.result.begin(), joined.result.end());
  joined.statistics = client.statistics();
  return joined;
}

}  // namespace rocksieve::join
