// SPDX-License-Identifier: Apache-2.0
#include "lib/join/memory_account.h"

#include <utility>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {

absl::Status MemoryAccount::Take(uint64_t bytes, const char* what) {
  uint64_t used = used_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_bytes_ || used > limit_bytes_ - bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          what, " would take ", bytes, " bytes beside ", used, " that are in use, where ",
          limit_bytes_, " are allowed: allow more memory, or use smaller ranges"));
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  uint64_t peak = peak_bytes_.load(std::memory_order_relaxed);
  while (peak < used + bytes &&
         !peak_bytes_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  return absl::OkStatus();
}

void MemoryAccount::GiveBack(uint64_t bytes) {
  used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

MemoryHold::MemoryHold(MemoryHold&& other) noexcept
    : account_(other.account_), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryHold& MemoryHold::operator=(MemoryHold&& other) noexcept {
  if (this == &other) return *this;
  Release();
  account_ = other.account_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

absl::Status MemoryHold::Resize(uint64_t bytes, const char* what) {
  if (account_ == nullptr) return absl::OkStatus();
  if (bytes > bytes_) {
    const absl::Status status = account_->Take(bytes - bytes_, what);
    if (!status.ok()) return status;
  } else {
    account_->GiveBack(bytes_ - bytes);
  }
  bytes_ = bytes;
  return absl::OkStatus();
}

absl::Status MemoryHold::Grow(uint64_t more_bytes, const char* what) {
  if (more_bytes > UINT64_MAX - bytes_) more_bytes = UINT64_MAX - bytes_;
  return Resize(bytes_ + more_bytes, what);
}

void MemoryHold::Shrink(uint64_t fewer_bytes) {
  if (account_ == nullptr) return;
  account_->GiveBack(fewer_bytes);
  bytes_ -= fewer_bytes;
}

void MemoryHold::Release() {
  if (account_ != nullptr) account_->GiveBack(bytes_);
  bytes_ = 0;
}

}  // namespace rocksieve::join
