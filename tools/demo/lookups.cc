// SPDX-License-Identifier: Apache-2.0
#include "support/return_if_error.h"
#include "tools/demo/demo.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <utility>

#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/slice_transform.h>
#include <rocksieve/range.h>

#include "lib/hash/mix.h"
#include "support/files.h"
#include "support/parallel.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr uint64_t kSeed = 20260101;

constexpr size_t kShownKeyBytes = 32;

// NotFound is an answer, too.
Status Get(rocksdb::DB* db, std::string_view key, rocksdb::PinnableSlice* value) {
  value->Reset();
  const Status status = db->Get({}, db->DefaultColumnFamily(), key, value);
  return status.IsNotFound() ? status : Explained(status, "look up a key in " + db->GetName());
}

using Clock = std::chrono::steady_clock;

// Per round, database and kind of key: one for each key, within these.
constexpr size_t kMostLookups = 2000, kLeastLookups = 160;
constexpr size_t kTimingRounds = 31;

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// The lookups of one kind of key, in all databases.
class Stopwatch {
 public:
  Stopwatch(const std::vector<std::unique_ptr<rocksdb::DB>>& databases,
            const std::vector<std::string_view>& keys)
      : databases_(databases),
        keys_(keys),
        samples_(databases.size()),
        lookups_(std::clamp(keys.size(), kLeastLookups, kMostLookups)) {}

  // The first round of a database warms up, and does not count. With fewer keys than lookups, keys
  // come again.
  Status Time(size_t database, size_t round) {
    const Clock::time_point start = Clock::now();
    for (size_t i = 0; i < lookups_; i++) {
      const std::string_view key = keys_[(round * lookups_ + i) % keys_.size()];
      const Status status = Get(databases_[database].get(), key, &value_);
      if (!status.ok() && !status.IsNotFound()) return status;
    }
    if (round == 0) return Status::OK();
    samples_[database].push_back(Microseconds(Clock::now() - start) /
                                 static_cast<double>(lookups_));
    return Status::OK();
  }

  // REQUIRES: Time() was called for more than a round.
  Json Result(size_t database) {
    std::vector<double>& samples = samples_[database];
    std::sort(samples.begin(), samples.end());
    return {{"median", samples[samples.size() / 2]},
            {"fastest_round", samples.front()},
            {"slowest_round", samples.back()}};
  }

 private:
  const std::vector<std::unique_ptr<rocksdb::DB>>& databases_;
  const std::vector<std::string_view>& keys_;
  std::vector<std::vector<double>> samples_;  // by database: microseconds per lookup
  const size_t lookups_;                      // per round
  rocksdb::PinnableSlice value_;
};

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
  RETURN_IF_ERROR(ConfigureRangeFilters(kSpec, &options, &table));
  *variants = {{"none", "ranges_none", nullptr},
               {"RocksDB Bloom 12, prefixes of 8 bytes", "ranges_rocksdb_bloom_12",
                std::shared_ptr<const rocksdb::FilterPolicy>(rocksdb::NewBloomFilterPolicy(12)),
                std::shared_ptr<const rocksdb::SliceTransform>(
                    rocksdb::NewFixedPrefixTransform(kEntityBytes))},
               {kSpec, "ranges_rocksieve_range_12", table.filter_policy, options.prefix_extractor}};
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
  RETURN_IF_ERROR(BuildTree(path, variant, keys, progress));
  RETURN_IF_ERROR(OpenTree(path, variant, /*for_ranges=*/true, &db));
  uint64_t with_events = 0, found = 0;
  RETURN_IF_ERROR(Ask(db.get(), events.of_one, progress, &with_events));
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  const Status status = Ask(db.get(), events.empty, progress, &found);
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

Status LoadKeys(const std::string& source, Keys* keys) {
  LineReader reader(source);
  std::vector<size_t> sizes;
  for (std::string_view line; reader.Next(&line);) {
    if (line.empty()) continue;
    sizes.push_back(line.size());
    keys->text += line;
  }
  keys->lines = reader.line_number();
  if (reader.interrupted()) return Status::Aborted(reader.error());
  if (!reader.error().empty()) {
    return Status::InvalidArgument(
        reader.error() +
        "\nName a file with one key per line with --keys=FILE; the words that are the default come "
        "with:\n  apt-get install wamerican-insane");
  }
  std::vector<std::string_view> lines;
  std::string_view rest = keys->text;
  for (const size_t size : sizes) {
    lines.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  if (lines.empty()) {
    return Status::InvalidArgument(reader.name() +
                                   " holds no keys: it has no line that is not empty");
  }

  // Sorted first, so that the split depends on the set of keys alone.
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::shuffle(lines.begin(), lines.end(), std::mt19937_64(kSeed));
  const auto middle = lines.begin() + static_cast<ptrdiff_t>((lines.size() + 1) / 2);
  keys->present.assign(lines.begin(), middle);
  keys->missing.assign(middle, lines.end());
  return Status::OK();
}

void MakeValue(uint64_t number, std::string* value) {
  // Seeding a Mersenne twister for each value would take longer than storing it.
  const uint64_t seed = SplitMix64(number, 0);
  value->resize(kSmallestValueBytes +
                SplitMix64(seed, 0) % (kLargestValueBytes - kSmallestValueBytes + 1));
  for (size_t at = 0; at < value->size(); at += sizeof(uint64_t)) {
    const uint64_t random = SplitMix64(seed, 1 + at / sizeof(uint64_t));
    std::memcpy(value->data() + at, &random, std::min(sizeof(random), value->size() - at));
  }
}

Status CheckPresent(rocksdb::DB* db, const std::vector<std::string_view>& keys, Progress* progress,
                    Json* counted) {
  uint64_t lost = 0, wrong = 0;
  std::string expected, first_bad;
  rocksdb::PinnableSlice value;
  for (size_t i = 0; i < keys.size(); i++) {
    Status status = Advanced(progress);
    if (status.ok()) status = Get(db, keys[i], &value);
    if (!status.ok() && !status.IsNotFound()) return status;
    MakeValue(i, &expected);
    if (status.ok() && value == expected) continue;
    (status.ok() ? wrong : lost)++;
    if (!first_bad.empty()) continue;
    first_bad = rocksdb::Slice(keys[i].substr(0, kShownKeyBytes)).ToString(/*hex=*/true);
  }
  *counted = {{"lost", lost}, {"wrong", wrong}, {"first_bad", first_bad}};
  return Status::OK();
}

Status CountMissingCosts(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                         Progress* progress, Json* counted) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  perf.Reset();
  Status status;
  uint64_t found = 0;
  rocksdb::PinnableSlice value;
  for (size_t i = 0; i < keys.size() && (status.ok() || status.IsNotFound()); i++) {
    status = Advanced(progress);
    if (status.ok()) status = Get(db, keys[i], &value);
    found += status.ok() ? 1 : 0;
  }
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  *counted = {{"data_block_reads", DataBlockReads()},
              {"filter_probes", perf.bloom_sst_hit_count + perf.bloom_sst_miss_count},
              {"false_positives", perf.bloom_sst_hit_count},
              {"missing_keys_found", found}};
  return status.IsNotFound() ? Status::OK() : status;
}

uint64_t DataBlockReads() {
  const rocksdb::PerfContext& counted = *rocksdb::get_perf_context();
  return counted.block_read_count - counted.index_block_read_count -
         counted.filter_block_read_count - counted.compression_dict_block_read_count;
}

Status TimeLookups(const std::vector<std::unique_ptr<rocksdb::DB>>& databases, const Keys& keys,
                   Progress* progress, std::vector<Json>* results) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  progress->Begin("timing lookups", (kTimingRounds + 1) * databases.size());
  Stopwatch missing(databases, keys.missing);
  Stopwatch present(databases, keys.present);
  const bool any_missing = !keys.missing.empty();
  Status status;
  for (size_t turn = 0; turn < (kTimingRounds + 1) * databases.size() && status.ok(); turn++) {
    const size_t round = turn / databases.size();
    const size_t database = (turn + round) % databases.size();
    status = Advanced(progress);
    if (status.ok()) status = present.Time(database, round);
    if (status.ok() && any_missing) status = missing.Time(database, round);
  }
  for (size_t i = 0; i < databases.size() && status.ok(); i++) {
    (*results)[i]["missing_lookup_us"] = any_missing ? missing.Result(i) : Json();
    (*results)[i]["present_lookup_us"] = present.Result(i);
  }
  return status;
}

Status MeasureRanges(const std::filesystem::path& directory, uint64_t keys, Progress* progress,
                     Json* result) {
  std::vector<Variant> variants;
  RETURN_IF_ERROR(MakeRangeVariants(&variants));
  const Events events = MakeEvents(std::clamp(kEventsPerKey * keys, kFewestEvents, kMostEvents));
  std::vector<Json> results(variants.size());
  progress->Begin(
      "ranges with each filter",
      variants.size() * (events.keys.size() + events.empty.size() + events.of_one.size()));
  // One after the other, so that there is one write buffer at a time.
  for (size_t i = 0; i < variants.size(); i++) {
    RETURN_IF_ERROR(MeasureOne(directory, variants[i], events, progress, &results[i]));
  }
  *result = {{"keys", events.keys.size()}, {"range_times", kRangeTimes}, {"filters", results}};
  return Status::OK();
}

}  // namespace rocksieve::tools
