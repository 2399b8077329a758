#include "join/range_keys.h"

#include <algorithm>
#include <memory>

#include "join/key_list.h"

namespace rocksieve::join {
namespace {

constexpr size_t kSampleBytes = 32 << 10;
// So that a scan that finds hardly any candidates gives word in time.
constexpr uint64_t kMostKeysPerCandidate = 4;

}  // namespace

absl::Status ScanKeys(Source* source, const KeyInterval& interval, uint64_t salt,
                      uint64_t most_keys, RangeKeys* keys, const ReadyUse& ready) {
  keys->candidates.clear();
  keys->sum = {};
  const SetSummer summer(salt);
  keys->next_key.reset();
  keys->uncovered = false;
  std::optional<ReadyFilterSet::Sweep> sweep;
  if (ready.set != nullptr) sweep.emplace(*ready.set);
  const std::unique_ptr<Cursor> cursor = source->Scan(interval);
  KeyListWriter sample;
  size_t sampled = 0;
  std::string last;
  Row row;
  uint64_t scanned = 0;
  const uint64_t most_scanned =
      std::min<uint64_t>(ready.prunes ? kMostKeysPerCandidate * most_keys : most_keys, UINT32_MAX);
  while (cursor->Next(&row)) {
    if (scanned > 0 && row.key == last) continue;
    if (keys->candidates.size() == most_keys || scanned == most_scanned) {
      keys->next_key = row.key;
      break;
    }
    last = row.key;
    const auto ordinal = static_cast<uint32_t>(scanned++);
    const KeyHash128 hash = HashKey128(row.key, salt);
    summer.Add(hash, &keys->sum);
    if (sweep && !sweep->MayContain(row.key)) {
      if (ready.prunes) continue;
      keys->uncovered = true;
      sweep.reset();
    }
    keys->candidates.push_back({hash, ordinal});
    if (sample.raw_bytes() < kSampleBytes) {
      sample.Add(row.key);
      sampled++;
    }
  }
  std::string packed;
  sample.Finish(&packed);
  if (sampled > 0) {
    keys->bits_per_key = 8 * static_cast<double>(packed.size()) / static_cast<double>(sampled);
  }
  return cursor->status();
}

}  // namespace rocksieve::join
