// The report for programs.
#pragma once

#include <string>

#include "tools/demo/result.h"

namespace rocksieve::tools {

// One JSON document. Its keys only ever become more; numbers have their units in the names. Where
// nothing could be measured (no missing keys, no filter), the value is null.
//
//   rocksieve_version, rocksdb_version
//   ok                 true if failed_checks is empty
//   failed_checks      [sentence]
//   keys               {source, lines, distinct, present, missing}
//   tree               [{level, files, keys, data_bytes}]
//   same_tree          true if it is the same for all filters
//   filters            [one object per filter, in the order of the table]
//     id, name
//     filter_bytes, filter_bytes_per_key
//     data_block_reads, data_block_reads_per_1000_missing_keys
//     filter_probes, false_positives                     counts, over all missing keys
//     expected_false_positive_rate, observed_false_positive_rate
//         {rate, low_95, high_95}                        fractions of 1, per filter probe
//     missing_lookup_us, present_lookup_us
//         {median, fastest_round, slowest_round}         microseconds per lookup
//     present_keys_checked, present_keys_lost, present_keys_with_wrong_value, missing_keys_found
//     reads_saved_per_100_of_rocksdb_bloom               negative if more were needed
//     filter_memory_over_rocksdb_bloom                   ratio; 1 is equal
//   summary            the sentence of the text report
//   kept_directory     where the databases are, or null
//   run_seconds
std::string JsonReport(const DemoResult& result);

}  // namespace rocksieve::tools
