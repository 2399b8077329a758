// SPDX-License-Identifier: Apache-2.0
#include "bench/auto/sample_cost.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/table.h>
#include <rocksieve/filter_policy.h>

#include "bench/auto/tree.h"
#include "bench/compare/clock.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve::bench {
namespace {

constexpr size_t kMostAtOnce = 32;  // in RocksDB's own batches

class Queried {
 public:
  Queried(const std::string& spec, const std::vector<std::string>& keys) {
    const rocksdb::Status made = NewFilterPolicy(spec, &policy_);
    if (!made.ok()) throw std::runtime_error(made.ToString());
    // A policy listens in the bytewise order, of which it hears when a database is opened.
    const rocksdb::Options options;
    const rocksdb::Status valid = policy_->ValidateOptions(options, options);
    if (!valid.ok()) throw std::runtime_error(valid.ToString());
    const rocksdb::BlockBasedTableOptions table;
    rocksdb::FilterBuildingContext context(table);
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy_->GetBuilderWithContext(context));
    for (const std::string& key : keys) builder->AddKey(key);
    reader_.reset(policy_->GetFilterBitsReader(builder->Finish(&block_)));
  }

  // Nanoseconds per query, so many `at_once`. What is found counts as such, as in RocksDB.
  double Time(const std::vector<std::string>& keys, size_t at_once) {
    std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
    std::vector<rocksdb::Slice*> pointers;
    for (rocksdb::Slice& slice : slices) pointers.push_back(&slice);
    const double start = CpuClock::Nanoseconds();
    if (at_once == 1) {
      AskSingly(slices);
    } else {
      AskAtOnce(&pointers, at_once);
    }
    return (CpuClock::Nanoseconds() - start) / static_cast<double>(keys.size());
  }

 private:
  void AskSingly(const std::vector<rocksdb::Slice>& keys) {
    rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
    for (const rocksdb::Slice& key : keys) {
      if (reader_->MayMatch(key)) perf.get_read_bytes++;
    }
  }

  void AskAtOnce(std::vector<rocksdb::Slice*>* keys, size_t at_once) {
    rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
    bool passed[kMostAtOnce];
    for (size_t begin = 0; begin + at_once <= keys->size(); begin += at_once) {
      reader_->MayMatch(static_cast<int>(at_once), keys->data() + begin, passed);
      const auto found = std::count(passed, passed + at_once, true);
      perf.block_cache_hit_count += static_cast<uint64_t>(found);
      perf.multiget_read_bytes += static_cast<uint64_t>(found);
    }
  }

  PolicyPtr policy_;
  std::unique_ptr<const char[]> block_;
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
};

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The rows of one filter.
std::string Rows(const std::string& family, uint64_t count, size_t length,
                 const std::vector<size_t>& at_once, int rounds) {
  std::vector<std::string> present, absent;
  for (uint64_t i = 0; i < count; i++) {
    present.push_back(PresentKey(i) + std::string(length - 16, 'x'));
    absent.push_back(MissingKey(i) + std::string(length - 16, 'x'));
  }
  const std::string spec = "rocksieve.auto:10:" + family;
  Queried even(spec + ":even", present), heard(spec, present);
  present.resize(10000);
  absent.resize(10000);
  std::string rows;
  for (const size_t batch : at_once) {
    for (const bool is_present : {false, true}) {
      const std::vector<std::string>& keys = is_present ? present : absent;
      std::vector<double> even_ns, heard_ns, difference;
      for (int round = 0; round < rounds; round++) {
        even_ns.push_back(even.Time(keys, batch));
        heard_ns.push_back(heard.Time(keys, batch));
        difference.push_back(heard_ns.back() - even_ns.back());
      }
      char row[160];
      std::snprintf(row, sizeof(row), "| %s, %llu | %zu bytes | %zu | %s | %.2f | %.2f | %.2f |\n",
                    family.c_str(), static_cast<unsigned long long>(count), length, batch,
                    is_present ? "present" : "absent", MedianOf(even_ns), MedianOf(heard_ns),
                    MedianOf(difference));
      rows += row;
    }
  }
  return rows;
}

}  // namespace

std::string SampleCosts(bool smoke, const std::vector<size_t>& at_once) {
  std::string rows =
      "Nanoseconds of processor time per query, medians of rounds that alternate\n\n"
      "| filter | keys of | at once | asked for | even | heard | difference |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const char* family : {"bloom", "ribbon"}) {
    for (const uint64_t count : {uint64_t{10000}, smoke ? uint64_t{20000} : uint64_t{1000000}}) {
      for (const size_t length : {16, 32}) {
        rows += Rows(family, count, length, at_once, smoke ? 3 : 101);
      }
    }
  }
  return rows;
}

}  // namespace rocksieve::bench
