// SPDX-License-Identifier: Apache-2.0
// rocksieve as a RocksDB filter policy.
//
//   rocksdb::BlockBasedTableOptions table_options;
//   rocksdb::Status status =
//       rocksieve::NewFilterPolicy("rocksieve.bloom:10", &table_options.filter_policy);
//
// or, in anything that reads option strings or OPTIONS files once this library is loaded,
//
//   block_based_table_factory={filter_policy=rocksieve.bloom:10}
//
// Filters that the database already has keep working, and a RocksDB without rocksieve can open the
// database again (docs/formats/block.md says why). Specs: see filter_spec.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/filter_policy.h>
#include <rocksdb/status.h>

#if defined(__GNUC__)
#define ROCKSIEVE_EXPORT __attribute__((visibility("default")))
#else
#define ROCKSIEVE_EXPORT
#endif

namespace rocksieve {

// InvalidArgument if the spec cannot be honoured: the message has the offending text, what is
// allowed, and an example. NotSupported if the RocksDB in this process is not the release that the
// plugin was built for. *policy is changed only if OK is returned. Thread-safe.
ROCKSIEVE_EXPORT rocksdb::Status NewFilterPolicy(
    std::string_view spec, std::shared_ptr<const rocksdb::FilterPolicy>* policy);

// The filters of one family that were built for files of one level.
struct FiltersBuilt {
  // "bloom", "cuckoo", "ribbon", "range"; "none" where rocksieve.auto found a filter not worth its
  // memory, or where a range filter got no keys, without whole_key_filtering.
  std::string family;
  // Where their files were created; RocksDB may have moved them deeper since, as they are. Flushes
  // create files at level 0. -1 if RocksDB does not say: SstFileWriter, repair.
  int level = -1;
  uint64_t filters = 0;  // one per file, or per partition of a file's filter
  uint64_t keys = 0;     // distinct whole keys and prefixes
  uint64_t bytes = 0;
  // The time that builds held up the threads that write files, but for hashing: a few nanoseconds
  // per key, while it is written.
  double build_seconds = 0;
};

// What a policy has done since it was made. All counts only grow.
// Queries are not among them: see FilterQueries in metrics.h.
struct FilterStats {
  uint64_t filters_built = 0;
  uint64_t keys_added = 0;
  uint64_t bytes_built = 0;
  // Among them such with keys that could not be placed, because somebody chose them so: they find
  // every key, and answer "may match" to a share of all others. See `salted` in filter_spec.h.
  uint64_t incomplete_filters_built = 0;
  uint64_t filters_opened = 0;          // of ours and intact
  uint64_t foreign_filters_opened = 0;  // handed to RocksDB's own reader
  uint64_t damaged_filters = 0;         // answered with "may match"
  uint64_t future_filters = 0;          // from a later version; answered with "may match"
  // The same filters as in filters_built, by family and level; no row for what was never built.
  std::vector<FiltersBuilt> built;
};

// InvalidArgument if the policy is null or not one of ours. Thread-safe, cheap.
ROCKSIEVE_EXPORT rocksdb::Status GetFilterStats(const rocksdb::FilterPolicy* policy,
                                                FilterStats* stats);

}  // namespace rocksieve
