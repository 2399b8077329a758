#include "tools/demo/lookups.h"

#include <algorithm>
#include <cstring>

#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include "support/parallel.h"
#include "tools/demo/tree.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr size_t kShownKeyBytes = 32;

// SplitMix64 (Steele, Lea, Flood 2014): seeding a Mersenne twister for each value would take longer
// than storing it.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Calls found(i, value) or not_found(i) for every key.
template <typename Found, typename NotFound>
Status GetAll(rocksdb::DB* db, const std::vector<std::string_view>& keys, Progress* progress,
              const Found& found, const NotFound& not_found) {
  rocksdb::PinnableSlice value;
  for (size_t i = 0; i < keys.size(); i++) {
    Status status = Advanced(progress);
    if (!status.ok()) return status;
    value.Reset();
    status = db->Get({}, db->DefaultColumnFamily(), keys[i], &value);
    if (status.ok()) {
      found(i, value);
    } else if (status.IsNotFound()) {
      not_found(i);
    } else {
      return Explained(status, "look up a key in " + db->GetName());
    }
  }
  return Status::OK();
}

}  // namespace

void MakeValue(uint64_t number, std::string* value) {
  uint64_t seed = number;
  uint64_t state = NextRandom(&seed);
  value->resize(kSmallestValueBytes +
                NextRandom(&state) % (kLargestValueBytes - kSmallestValueBytes + 1));
  for (size_t at = 0; at < value->size(); at += sizeof(uint64_t)) {
    const uint64_t random = NextRandom(&state);
    std::memcpy(value->data() + at, &random, std::min(sizeof(random), value->size() - at));
  }
}

Status CheckPresent(rocksdb::DB* db, const std::vector<std::string_view>& keys, Progress* progress,
                    PresentCheck* check) {
  *check = {};
  check->keys = keys.size();
  std::string expected;
  const auto remember = [&](size_t i) {
    if (!check->first_bad_key.empty()) return;
    check->first_bad_key = rocksdb::Slice(keys[i].substr(0, kShownKeyBytes)).ToString(/*hex=*/true);
  };
  return GetAll(
      db, keys, progress,
      [&](size_t i, const rocksdb::Slice& value) {
        MakeValue(i, &expected);
        if (value == expected) return;
        check->wrong_values++;
        remember(i);
      },
      [&](size_t i) {
        check->lost++;
        remember(i);
      });
}

Status CountMissingCosts(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                         Progress* progress, MissingCosts* costs) {
  *costs = {};
  costs->keys = keys.size();
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::PerfContext& counted = *rocksdb::get_perf_context();
  counted.Reset();
  const Status status = GetAll(
      db, keys, progress, [&](size_t, const rocksdb::Slice&) { costs->found++; }, [](size_t) {});
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  costs->data_block_reads = counted.block_read_count - counted.index_block_read_count -
                            counted.filter_block_read_count -
                            counted.compression_dict_block_read_count;
  costs->filter_probes = counted.bloom_sst_hit_count + counted.bloom_sst_miss_count;
  costs->false_positives = counted.bloom_sst_hit_count;
  return status;
}

}  // namespace rocksieve::tools
