// The report for programs.
#pragma once

#include <string>

#include "tools/inspect/inspection.h"

namespace rocksieve::tools {

// One JSON document. Its keys only ever become more; numbers have their units in the names, rates
// and shares are fractions of 1, keys are in hexadecimal digits. What could not be said is null.
//
//   rocksieve_version, rocksdb_version
//   file, file_bytes, format_version, keys, deletions
//   column_family, comparator, filter_policy, prefix_extractor    as the file names them
//   filters_whole_keys, filters_prefixes
//   ok                  false if there are problems
//   layout              "none", "full", "partitioned", "obsolete"
//   stored_as           the compatibility name of the policy that wrote the filter
//   offset              of the block, or of the index of its partitions
//   filter_bytes, filter_keys, bits_per_key, family, parameters
//   predicted_false_positive_rate, probed_false_positive_rate, probes
//   blocks  [{offset, bytes, keys, bits_per_key, family, parameters,
//             predicted_false_positive_rate, probed_false_positive_rate, probes, passes,
//             load, load_unit, fill, fill_of,
//             last_key_hex      the largest key of the partition, null if it is the only block
//             header            of ours: {family_number, parameter, key_count, salt_hex,
//                               check_word_hex, smallest_hex, largest_hex, largest_cut}, else null
//             damage, bytes_hex (with --hex)}]
//   problems  [sentence], remedy
std::string JsonReport(const Inspection& inspection, bool hex);

}  // namespace rocksieve::tools
