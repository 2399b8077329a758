// The report for programs.
#pragma once

#include <string>

#include "tools/explain/explanation.h"

namespace rocksieve::tools {

// One JSON document. Its keys only ever become more; numbers have their units in the names, rates
// and shares are fractions of 1. What could not be said is null.
//
//   rocksieve_version, rocksdb_version
//   database                     the directory
//   options_file                 its name there, or null
//   write_ahead_log_bytes        their data may be in no file yet
//   ok                           false if some column family has problems
//   column_families  [one object each]
//     name
//     expected_useless_reads_per_missing_lookup      data blocks; null if unknown
//     expected_useless_reads_95                      [low, high]
//     expected_useless_reads_is_upper_bound          true if some filters are of an unknown policy
//     predicted_useless_reads_per_missing_lookup     the same from the rates that filters promise
//     useless_reads_per_missing_lookup_without_filters
//     share_of_files_without_filter
//     files, files_without_filter, keys, deletions, file_bytes, filter_bytes, bits_per_key
//                                keys: entries of files, old versions and deletions included
//     predicted_false_positive_rate, measured_false_positive_rate
//                                of files with filters, weighted with their lookups
//     filter_lookups             that the measured rate is of
//     files_per_missing_lookup   files that a lookup comes to, and
//     passes_per_missing_lookup  those of them whose filter, if any, lets it through
//     data_blocks_read_per_pass  measured with a sample of the probes
//     probes                     {keys, source: "made" or "file", sample_keys, sample_keys_found}
//     filter_policy, whole_key_filtering, prefix_extractor, optimize_filters_for_hits, comparator
//                                as the OPTIONS file has them
//     levels  [{level, the same keys as above from files to passes_per_missing_lookup, and
//              filters  [{family, files, partitioned_files, keys, bytes,
//                         setting, setting_min, setting_max}]}]
//     table_files  [{name, level, keys, deletions, file_bytes, filter_bytes, family, parameters,
//                   partitions, predicted_false_positive_rate, lookups, passes, error}]
//     notes, problems  [sentence]
std::string JsonReport(const Explanation& explanation);

}  // namespace rocksieve::tools
