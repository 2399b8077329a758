#include "lib/transport/session_limits.h"

#include <algorithm>

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerKey = 48;  // of an open range, and what matching adds to it
constexpr uint64_t kMostRanges = 6;
constexpr uint64_t kMostKeysPerRange = uint64_t{1} << 20;

}  // namespace

void SetLimits(MemoryAccount* share, AnsweringOptions* answering, DriveLimits* limits,
               ViewTerms* terms) {
  const uint64_t share_bytes = share->limit_bytes();
  *limits = Within(share, *limits);
  answering->memory = share;
  answering->most_ranges = kMostRanges;
  answering->most_keys_per_range =
      std::clamp<uint64_t>(share_bytes / 2 / kMostRanges / kBytesPerKey, 1, kMostKeysPerRange);
  answering->ready.most_bytes = share_bytes / 4;
  answering->most_message_bytes = limits->most_message_bytes;
  terms->sort_memory_bytes = share_bytes / 4;
}

}  // namespace rocksieve::join
