#include "join/range_keys.h"

#include <memory>

#include "join/key_list.h"

namespace rocksieve::join {
namespace {

constexpr size_t kSampleBytes = 32 << 10;

}  // namespace

absl::Status ScanKeys(Source* source, const KeyInterval& interval, uint64_t salt,
                      uint64_t most_keys, RangeKeys* keys) {
  keys->candidates.clear();
  keys->sum = {};
  const SetSummer summer(salt);
  keys->next_key.reset();
  const std::unique_ptr<Cursor> cursor = source->Scan(interval);
  KeyListWriter sample;
  size_t sampled = 0;
  std::string last;
  Row row;
  while (cursor->Next(&row)) {
    if (!keys->candidates.empty() && row.key == last) continue;
    if (keys->candidates.size() == most_keys) {
      keys->next_key = row.key;
      break;
    }
    last = row.key;
    const auto ordinal = static_cast<uint32_t>(keys->candidates.size());
    keys->candidates.push_back({HashKey128(row.key, salt), ordinal});
    summer.Add(keys->candidates.back().hash, &keys->sum);
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
