// SPDX-License-Identifier: Apache-2.0
// Bytes that a session keeps because of what the other side sends or asks for.
//
// Whatever a peer's bytes would make this side keep is taken from an account before it is
// allocated, so that no number that a peer sends is an allocation. Bytes are estimates of what the
// allocator takes for vectors and strings, rounded up; what RocksDB, gRPC and thread stacks take is
// not among them.
#pragma once

#include <atomic>
#include <cstdint>

#include <absl/status/status.h>

namespace rocksieve::join {

// Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(uint64_t limit_bytes = UINT64_MAX) : limit_bytes_(limit_bytes) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  uint64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }

  // ResourceExhausted, and nothing is taken, if that would be beyond the limit. `what` names the
  // thing in the message: "keys of a range".
  absl::Status Take(uint64_t bytes, const char* what);
  // REQUIRES: so much was taken.
  void GiveBack(uint64_t bytes);

 private:
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> used_bytes_ = 0, peak_bytes_ = 0;
};

// A part of an account, given back with its destruction. Not thread-safe.
class MemoryHold {
 public:
  // Null: nothing is counted. The account must outlive it.
  explicit MemoryHold(MemoryAccount* account = nullptr) : account_(account) {}
  ~MemoryHold() { Release(); }
  MemoryHold(MemoryHold&& other) noexcept;
  MemoryHold& operator=(MemoryHold&& other) noexcept;

  uint64_t bytes() const { return bytes_; }
  // Takes more or gives back, to hold so many; unchanged if that fails.
  absl::Status Resize(uint64_t bytes, const char* what);
  absl::Status Grow(uint64_t more_bytes, const char* what);
  // REQUIRES: it holds so many.
  void Shrink(uint64_t fewer_bytes);
  void Release();

 private:
  MemoryAccount* account_;
  uint64_t bytes_ = 0;
};

}  // namespace rocksieve::join
