// SPDX-License-Identifier: Apache-2.0
// The two classes that RocksDB 7.0 hid from its public headers, declared again; inside of RocksDB's
// own tree (ROCKSIEVE_IN_TREE), its own declarations.
//
// This is the one place that knows RocksDB's private interface. Both classes are pure interfaces,
// so the order of their virtual functions is all that matters; a release that nobody has compared
// is refused, here at compile time, and in registry.cc at run time.
// Compared with table/block_based/filter_policy_internal.h of every release from 7.0.3 to 11.8.1.
#pragma once

#include <cstddef>
#include <memory>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/version.h>

// The release of the headers, to compare with: 9.10.0 is 91000.
#define ROCKSIEVE_ROCKSDB (ROCKSDB_MAJOR * 10000 + ROCKSDB_MINOR * 100 + ROCKSDB_PATCH)

// Releases that a build can be for: from the first of these on and before the last, but the one
// between.
#define ROCKSIEVE_OLDEST_ROCKSDB 70003
#define ROCKSIEVE_MISNUMBERED_ROCKSDB 100100
#define ROCKSIEVE_UNKNOWN_ROCKSDB 110900

#if ROCKSIEVE_ROCKSDB < 70000
#error "rocksieve needs RocksDB 7.0.3 or later: earlier ones have no registry for filter policies"
#elif ROCKSIEVE_ROCKSDB < ROCKSIEVE_OLDEST_ROCKSDB
#error "RocksDB 7.0.1 and 7.0.2 write filters that no other release reads: use 7.0.3 or later"
#elif ROCKSIEVE_ROCKSDB == ROCKSIEVE_MISNUMBERED_ROCKSDB
#error "RocksDB 10.1.0 is 9.11.1 with a wrong number: use 9.11.2, or 10.1.3 or later"
#elif ROCKSIEVE_ROCKSDB >= ROCKSIEVE_UNKNOWN_ROCKSDB
#error \
    "This RocksDB was not compared: its FilterBitsBuilder and FilterBitsReader in \
table/block_based/filter_policy_internal.h must have the virtual functions of rocksdb_abi.h, in \
the same order. Then raise this limit"
#endif

// Whether iterators of this release call prefix extractors and filters in the order that
// plugin/range/extractors.h has: of RocksDB 7.4.3 to 11.8.1, all releases were compared.
namespace rocksieve {
inline constexpr bool kRangesAreChecked = ROCKSIEVE_ROCKSDB >= 70400;
}

#ifdef ROCKSIEVE_IN_TREE
#include <table/block_based/filter_policy_internal.h>
#else

namespace ROCKSDB_NAMESPACE {

class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() {}
  virtual void AddKey(const Slice& key) = 0;
#if ROCKSIEVE_ROCKSDB >= 90600
  virtual void AddKeyAndAlt(const Slice& key, const Slice& alt) = 0;
#endif
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf) = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buf, Status* /*status*/) {
    return Finish(buf);
  }
  virtual Status MaybePostVerify(const Slice& /*filter_content*/) { return Status::OK(); }
  virtual size_t ApproximateNumEntries(size_t bytes) = 0;
#if ROCKSIEVE_ROCKSDB >= 100900
  virtual size_t CalculateSpace(size_t num_entries) = 0;
  virtual double EstimatedFpRate(size_t num_entries, size_t bytes) = 0;
#endif
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() {}
  virtual bool MayMatch(const Slice& entry) = 0;
  virtual void MayMatch(int num_keys, Slice** keys, bool* may_match) {
    for (int i = 0; i < num_keys; ++i) may_match[i] = MayMatch(*keys[i]);
  }
};

}  // namespace ROCKSDB_NAMESPACE

#endif
