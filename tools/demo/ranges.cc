// SPDX-License-Identifier: Apache-2.0
#include "tools/demo/ranges.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/slice_transform.h>
#include <rocksieve/range.h>

#include "support/parallel.h"
#include "tools/demo/lookups.h"
#include "tools/demo/tree.h"
#include "tools/demo/variants.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;
using Random = std::mt19937_64;

// So many for each key, within these.
constexpr uint64_t kEventsPerKey = 10, kFewestEvents = 1000, kMostEvents = 100'000;
constexpr uint64_t kEventsPerEntity = 30, kTimes = 1 << 20;
constexpr uint64_t kEventsPerRange = 5, kRangeTimes = 16;
constexpr size_t kEntityBytes = 8;

std::string EventKey(uint64_t entity, uint64_t time) {
  std::string key;
  for (const uint64_t number : {entity, time}) {
    for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  }
  return key;
}

struct Range {
  std::string begin, end;
};

// The same at each run with as many keys.
struct Events {
  std::vector<std::string> keys;  // in random order
  std::vector<Range> empty;       // from right after an event on
  std::vector<Range> of_one;      // with an event, at their begin
};

Events MakeEvents(uint64_t count) {
  Random random(1);
  std::vector<std::pair<uint64_t, uint64_t>> events;
  for (uint64_t i = 0; i < count; i++) {
    // Numbers of entities as hashes are, so that they say nothing of each other.
    const uint64_t entity = random() % (count / kEventsPerEntity) * 0x9e3779b97f4a7c15;
    events.emplace_back(entity, random() % kTimes);
  }
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  Events made;
  for (size_t at = 0; at + 1 < events.size() && made.empty.size() < count / kEventsPerRange;
       at += 1 + random() % (2 * kEventsPerRange)) {
    const auto& [entity, time] = events[at];
    made.of_one.push_back({EventKey(entity, time), EventKey(entity, time + 1)});
    const auto& [next_entity, next_time] = events[at + 1];
    if (next_entity == entity && next_time <= time + kRangeTimes) continue;
    made.empty.push_back({EventKey(entity, time + 1), EventKey(entity, time + 1 + kRangeTimes)});
  }
  for (const auto& [entity, time] : events) made.keys.push_back(EventKey(entity, time));
  for (size_t i = made.keys.size(); i > 1; i--)
    std::swap(made.keys[i - 1], made.keys[random() % i]);
  return made;
}

Status MakeRangeVariants(std::vector<Variant>* variants) {
  constexpr const char* kSpec = "rocksieve.range:12";
  rocksdb::ColumnFamilyOptions options;
  rocksdb::BlockBasedTableOptions table;
  const Status status = ConfigureRangeFilters(kSpec, &options, &table);
  if (!status.ok()) return status;
  *variants = {
      {"none", "ranges_none", nullptr, nullptr},
      {"RocksDB Bloom 12, prefixes of 8 bytes", "ranges_rocksdb_bloom_12",
       std::shared_ptr<const rocksdb::FilterPolicy>(rocksdb::NewBloomFilterPolicy(12)), nullptr,
       std::shared_ptr<const rocksdb::SliceTransform>(
           rocksdb::NewFixedPrefixTransform(kEntityBytes))},
      {kSpec, "ranges_rocksieve_range_12", table.filter_policy, nullptr, options.prefix_extractor}};
  return Status::OK();
}

// Sets *found to the ranges in which there is something.
Status Ask(rocksdb::DB* db, const std::vector<Range>& ranges, Progress* progress, uint64_t* found) {
  *found = 0;
  for (const Range& range : ranges) {
    const Status status = Advanced(progress);
    if (!status.ok()) return status;
    const rocksdb::Slice end = range.end;
    rocksdb::ReadOptions read;
    read.iterate_upper_bound = &end;
    read.auto_prefix_mode = true;  // RocksDB's filter of prefixes needs it; ours do not
    const std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator(read));
    iterator->Seek(range.begin);
    if (!iterator->status().ok()) return iterator->status();
    if (iterator->Valid()) ++*found;
  }
  return Status::OK();
}

Status MeasureOne(const std::filesystem::path& directory, const Variant& variant,
                  const Events& events, Progress* progress, Json* result) {
  const std::vector<std::string_view> keys(events.keys.begin(), events.keys.end());
  const std::filesystem::path path = directory / variant.directory;
  std::unique_ptr<rocksdb::DB> db;
  Status status = BuildTree(path, variant, keys, progress);
  if (status.ok()) status = OpenTreeForRanges(path, variant, &db);
  uint64_t with_events = 0, found = 0;
  if (status.ok()) status = Ask(db.get(), events.of_one, progress, &with_events);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  if (status.ok()) status = Ask(db.get(), events.empty, progress, &found);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  const uint64_t reads = DataBlockReads();
  *result = {{"id", variant.directory},
             {"name", variant.name},
             {"empty_ranges", events.empty.size()},
             {"data_block_reads", reads},
             {"data_block_reads_per_1000_ranges",
              1000 * static_cast<double>(reads) / static_cast<double>(events.empty.size())},
             {"empty_ranges_with_keys", found},
             {"ranges_lost", events.of_one.size() - with_events}};
  return status;
}

}  // namespace

Status MeasureRanges(const std::filesystem::path& directory, uint64_t keys, Progress* progress,
                     Json* result) {
  std::vector<Variant> variants;
  const Status made = MakeRangeVariants(&variants);
  if (!made.ok()) return made;
  const Events events = MakeEvents(std::clamp(kEventsPerKey * keys, kFewestEvents, kMostEvents));
  std::vector<Json> results(variants.size());
  progress->Begin(
      "ranges with each filter",
      variants.size() * (events.keys.size() + events.empty.size() + events.of_one.size()));
  Status status;
  // One after the other, so that there is one write buffer at a time.
  for (size_t i = 0; i < variants.size() && status.ok(); i++) {
    status = MeasureOne(directory, variants[i], events, progress, &results[i]);
  }
  *result = {{"keys", events.keys.size()}, {"range_times", kRangeTimes}, {"filters", results}};
  return status;
}

}  // namespace rocksieve::tools
