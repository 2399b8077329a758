// SPDX-License-Identifier: Apache-2.0
// Filters that answer for ranges and prefixes: iterators skip files that hold nothing of a range.
//
//   rocksdb::Options options;
//   rocksdb::BlockBasedTableOptions table_options;
//   rocksdb::Status status =
//       rocksieve::ConfigureRangeFilters("rocksieve.range:12", &options, &table_options);
//   options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options));
//
// or, in anything that reads option strings or OPTIONS files once the plugin is loaded,
//
//   prefix_extractor=rocksieve.range
//   block_based_table_factory={filter_policy=rocksieve.range:12}
//
// From then on, Seek() of an iterator with iterate_upper_bound asks the filter of each file whether
// it may hold a key of [target, upper bound), with plain ReadOptions. Get() and MultiGet() ask the
// same filters about single keys. docs/range.md says what is gained, and what is not filtered:
// iterators without an upper bound, reverse ones, total_order_seek.
//
// The order must be rocksdb::BytewiseComparator(): with any other comparator, filters answer for
// single keys only. RocksDB shows a policy the comparators of a database that is opened, but
// neither those of column families that CreateColumnFamily() makes nor that of SstFileWriter:
// **never give these another comparator with a copy of such options**, or their iterators may miss
// rows until keys come in an order that bytes do not have.
#pragma once

#include <string_view>

#include <rocksdb/options.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include "filter_policy.h"  // RocksDB installs both under another name

namespace rocksieve {

// Sets table_options->filter_policy and options->prefix_extractor. The spec is one of
// rocksieve.range (filter_spec.h). InvalidArgument, and nothing is changed, if it is not, if the
// comparator is not the bytewise one, or if there is a prefix extractor already: what relies on it
// (prefix_same_as_start, prefix Bloom filters, hash indexes) would silently mean something else.
// NotSupported as NewFilterPolicy(). Thread-safe.
ROCKSIEVE_EXPORT rocksdb::Status ConfigureRangeFilters(
    std::string_view spec, rocksdb::ColumnFamilyOptions* options,
    rocksdb::BlockBasedTableOptions* table_options);

}  // namespace rocksieve
