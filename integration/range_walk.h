// SPDX-License-Identifier: Apache-2.0
// An iterator of range_oracle beside a std::map that says where it should stand.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <rocksdb/db.h>

namespace rocksieve {

using Random = std::mt19937_64;
using Rows = std::map<std::string, std::string>;

// Keys of four kinds, all of few different ones, so that ranges often hold some and often none.
enum class KeyKind { kEntityAndTime, kPath, kOddBytes, kNumber };

std::string RandomKey(KeyKind kind, Random* random);

// What is read, and what it should be.
struct State {
  const rocksdb::Snapshot* snapshot = nullptr;  // null: as it is now
  Rows rows;
};

// What all threads add to. Thread-safe.
struct Tally {
  std::atomic<uint64_t> operations{0}, wrong{0};
  std::atomic<uint64_t> wrong_without{0};  // answers that are as wrong without any filter

  // Counts, and prints the first ones with the options of the read.
  void Wrong(const std::string& what, const rocksdb::ReadOptions& read);

 private:
  std::mutex mutex_;
};

// Bytes of the longest bound or seek key.
inline constexpr size_t kBoundBytes = 64;
// Of the buffer of a walk: both bounds and the seek key.
inline constexpr size_t kWalkBytes = 3 * kBoundBytes;

// An iterator of random options, with bounds of its own, that does random steps.
class Walk {
 public:
  // `buffer`: kWalkBytes for bounds and seek keys, in which they are changed in place. `may_tail`:
  // the iterator may be a tailing one, which knows no deletions of ranges. `any_order`: else it is
  // in total order, as a prefix extractor of RocksDB's own wants it.
  Walk(rocksdb::DB* db, KeyKind kind, const std::vector<State>& states, bool may_tail,
       bool any_order, char* buffer, Random* random, Tally* tally);

  // One step, whose result is compared.
  void Step();

 private:
  using Place = Rows::const_iterator;

  void MoveBounds();
  Place End() const { return has_upper_ ? rows_->lower_bound(upper_) : rows_->end(); }
  Place First() const { return has_lower_ ? rows_->lower_bound(lower_) : rows_->begin(); }
  bool IsInBounds(Place place) const;

  void Seek();
  void SeekForPrev();
  void SeekToLast();
  void Move(bool both_ways);

  // The iterator should stand there, or right before it, unless that is out of bounds.
  void StandsAt(Place place, const char* after);
  void StandsBefore(Place place, const char* after);

  const KeyKind kind_;
  char* const buffer_;
  Random& random_;
  Tally& tally_;
  const Rows* rows_ = nullptr;
  rocksdb::ReadOptions read_;
  rocksdb::Slice upper_slice_, lower_slice_;
  std::string upper_, lower_;
  bool has_upper_ = false, has_lower_ = false, moves_bounds_ = false;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  Place place_;
  bool valid_ = false;
};

}  // namespace rocksieve
