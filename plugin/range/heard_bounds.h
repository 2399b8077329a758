// SPDX-License-Identifier: Apache-2.0
// How a filter reader learns which range an iterator is asking for.
//
// RocksDB hands a filter the prefix of the seek key alone. But the prefix is made by the table's
// prefix extractor, which is given the seek key and the upper bound right before. So the extractor
// of our tables (RangeFileExtractor) remembers both, and returns an empty prefix whose address says
// which seek it was; the reader takes the bounds if it is asked with just this address.
//
// What RocksDB 7.4 to 11.8 calls for one seek (BlockBasedTable::PrefixRangeMayMatch,
// FilterBlockReaderCommon::RangeMayExist and IsFilterCompatible), and the state after it:
//
//   InDomain(seek)      kAskedSeek
//   InDomain(seek)      kAskedSeek
//   Transform(seek)     kSeek         returns the mark of a new serial number
//   InDomain(bound)     kAskedBound
//   Transform(bound)    kBound        returns the mark of bounds, which is empty as well
//   MayMatch(mark)      kNothing      the range is known if the mark is that of the last serial
//
// The argument of Transform() must be the very object that InDomain() was asked about last, by the
// same extractor; whatever else happens leads to kNothing or to a state from which no mark that
// somebody still has is taken. Nothing is kept beyond one MayMatch(), and nothing that RocksDB
// itself does not use afterwards. docs/design/range.md has the proof.
#pragma once

#include <cstdint>
#include <string_view>

#include <rocksdb/slice.h>

namespace rocksieve {

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

}  // namespace rocksieve
