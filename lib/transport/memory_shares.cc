#include "lib/transport/memory_shares.h"

#include <algorithm>

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerKey = 48;  // of an open range, and what matching adds to it
constexpr uint64_t kMostRanges = 6;
constexpr uint64_t kMostKeysPerRange = uint64_t{1} << 20;

size_t SessionsWithRoom(uint64_t limit_bytes, size_t most_sessions) {
  return std::clamp<uint64_t>(limit_bytes / MemoryShares::kLeastShareBytes, 1,
                              std::max<size_t>(most_sessions, 1));
}

}  // namespace

MemoryShares::MemoryShares(uint64_t limit_bytes, size_t most_sessions)
    : limit_bytes_(limit_bytes),
      most_sessions_(SessionsWithRoom(limit_bytes, most_sessions)),
      least_bytes_(std::min(
          limit_bytes, std::max<uint64_t>(kLeastShareBytes, limit_bytes / 2 / most_sessions_))) {}

std::unique_ptr<MemoryShares::Share> MemoryShares::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (taken_ == most_sessions_) return nullptr;
  const size_t others = most_sessions_ - taken_ - 1;  // that may still come
  const uint64_t free_bytes = limit_bytes_ - taken_bytes_ - others * least_bytes_;
  const uint64_t bytes = others == 0 ? free_bytes : least_bytes_ + (free_bytes - least_bytes_) / 2;
  auto share = std::make_unique<Share>(this, bytes);  // may throw, and then nothing is taken
  taken_++;
  taken_bytes_ += bytes;
  return share;
}

MemoryShares::Share::~Share() {
  const std::lock_guard<std::mutex> lock(shares_->mutex_);
  shares_->taken_--;
  shares_->taken_bytes_ -= bytes_;
}

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
