// SPDX-License-Identifier: Apache-2.0
// The two prefix extractors behind prefix_extractor=rocksieve.range. To both, every key has the
// empty prefix.
//
// RocksDB asks the extractor in the options for much, in memtables, iterators and builders. Table
// files of ours record another name, so that RocksDB makes an extractor of its own for each table
// that it opens; as it is not the one in the options, RocksDB asks it about the upper bound of
// a seek as well, and asks no filter if there is none.
#pragma once

#include <string>

#include <rocksdb/slice_transform.h>

namespace rocksieve {

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
