#include "lib/transport/memory_shares.h"

#include <algorithm>

namespace rocksieve::join {
namespace {

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

}  // namespace rocksieve::join
