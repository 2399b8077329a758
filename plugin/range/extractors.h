// SPDX-License-Identifier: Apache-2.0
// How iterators ask range filters: the prefix extractors by which bounds of ranges are heard, and
// what is counted of it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rocksdb/slice.h>
#include <rocksdb/slice_transform.h>

#include <rocksieve/metrics.h>

#include "lib/range/cells.h"

namespace rocksieve {

// The order of keys in the tables of a policy, as far as it is known. Range filters are about the
// bytewise order alone, and a policy learns of comparators only where a database is opened: not
// those of SstFileWriter, nor of column families that CreateColumnFamily() makes. Thread-safe.
class KeyOrder {
 public:
  void Note(bool is_bytewise) {
    Order unknown = Order::kUnknown;
    if (is_bytewise) {
      order_.compare_exchange_strong(unknown, Order::kBytewise);
    } else {
      order_ = Order::kOther;  // for good
    }
  }
  bool is_bytewise() const { return order_.load(std::memory_order_relaxed) == Order::kBytewise; }
  bool is_other() const { return order_.load(std::memory_order_relaxed) == Order::kOther; }

 private:
  enum class Order { kUnknown, kBytewise, kOther };
  std::atomic<Order> order_{Order::kUnknown};
};

// Counts what is asked of a policy's range filters, for the filters that it builds next.
// Thread-safe. Every sixteenth query of a thread is looked at, which costs the others about a
// nanosecond; counts are halved now and then, so that they follow what is asked now.
class QuerySampler {
 public:
  // A reader is asked for a key, or for the range [begin, end), which counts if begin < end.
  void CountLookup();
  void CountRange(std::string_view begin, std::string_view end);

  // Empty as long as too little was asked to go by.
  range::QueryMix Mix() const;

 private:
  void Add(std::atomic<uint64_t>* count, uint64_t amount);
  void HalveIfMany();

  std::atomic<uint64_t> lookups_{0}, sampled_{0};
  std::array<std::atomic<uint64_t>, range::kMaxDepth + 1> ranges_{}, cells_below_{};
};

// What iterators asked the range filters of this process, counted.
//
// Of the process, not of a policy: the prefix extractor of a table, which alone sees a seek without
// an upper bound, does not know whose table it is.

enum class RangeEvent {
  kSeek,         // a seek came to a file with a range filter
  kBound,        // and had an upper bound
  kNegative,     // the filter has no key of the range
  kPositive,     // it may have one
  kNotProven,    // asked without a range that is known to be the caller's
  kOtherOrder,   // the filter knows no order: another comparator, or RocksDB before 7.4
  kBeginsAtEnd,  // the range ends where it begins, or before: RocksDB's own seeks
};

// Thread-safe. A thread adds to one of several lines of memory, which it shares with few others.
class RangeCounts {
 public:
  static void Count(RangeEvent event) {
    OfThisThread()[static_cast<size_t>(event)].fetch_add(1, std::memory_order_relaxed);
  }

  static RangeQueries Read();

 private:
  static constexpr size_t kEvents = 7;
  using Counts = std::array<std::atomic<uint64_t>, kEvents>;
  struct alignas(64) Line {
    Counts counts{};
  };

  static Counts& OfThisThread();
  static uint64_t Sum(RangeEvent event);

  static std::array<Line, 64> lines_;
};

// How a filter reader learns which range an iterator is asking for. RocksDB hands it the prefix of
// the seek key alone, but gives the table's prefix extractor the seek key and the upper bound right
// before. So that of our tables (RangeFileExtractor) remembers both, and returns an empty prefix
// whose address says which seek it was; the reader takes the bounds if it is asked with just this
// address. Nothing is kept beyond one MayMatch(), and nothing that RocksDB itself does not use
// afterwards. docs/design/range.md, "The hook", has the calls, the states, and the proof.

// Of one thread.
class HeardBounds {
 public:
  static HeardBounds& OfThisThread();

  HeardBounds() = default;
  HeardBounds(const HeardBounds&) = delete;
  HeardBounds& operator=(const HeardBounds&) = delete;

  // `extractor` was called so. Transform() returns what it is to return, and counts a seek or its
  // bound (RangeCounts).
  void InDomain(const void* extractor, const rocksdb::Slice& key);
  rocksdb::Slice Transform(const void* extractor, const rocksdb::Slice& key);

  // A reader is asked with an empty entry. True, with the bounds of a range, if the entry is the
  // mark of a seek whose upper bound was heard; the views last as long as the reader's answer
  // takes. Forgets the seek in any case.
  bool Take(const rocksdb::Slice& entry, std::string_view* begin, std::string_view* end);

 private:
  enum class State { kNothing, kAskedSeek, kSeek, kAskedBound, kBound };

  State state_ = State::kNothing;
  const void* extractor_ = nullptr;
  const rocksdb::Slice* asked_ = nullptr;
  std::string_view begin_, end_;
  uint64_t serial_ = 0;
};

// The two prefix extractors behind prefix_extractor=rocksieve.range. To both, every key has the
// empty prefix.
//
// RocksDB asks the extractor in the options for much, in memtables, iterators and builders. Table
// files of ours record another name, so that RocksDB makes an extractor of its own for each table
// that it opens; as it is not the one in the options, RocksDB asks it about the upper bound of
// a seek as well, and asks no filter if there is none.

inline constexpr const char* kRangeExtractorName = "rocksieve.range";
inline constexpr const char* kRangeFileExtractorName = "rocksieve.range.file";

// What the options have. Thread-safe.
class RangeExtractor final : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return kRangeExtractorName; }

  // Its name; but kRangeFileExtractorName once on a thread on which a range filter has just been
  // finished: the next who asks there writes the properties of its file.
  std::string GetId() const override;

  bool InDomain(const rocksdb::Slice&) const override { return true; }
  rocksdb::Slice Transform(const rocksdb::Slice&) const override { return rocksdb::Slice("", 0); }

  // A range filter was finished on this thread; the properties of its file come next.
  static void FilterWasFinished();
  // They do not: another filter is being built.
  static void FilterIsBuilt();
};

// What RocksDB makes for a table file; reports to HeardBounds. Thread-safe.
class RangeFileExtractor final : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return kRangeFileExtractorName; }
  bool InDomain(const rocksdb::Slice& key) const override;
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override;
};

}  // namespace rocksieve
