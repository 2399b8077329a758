// What is compared: one tree with no filter, and with each of four.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/filter_policy.h>
#include <rocksdb/status.h>

#include "tools/demo/file_rate.h"

namespace rocksieve::tools {

struct Variant {
  std::string name;                                     // for people
  std::string directory;                                // its database's, and its key in JSON
  std::shared_ptr<const rocksdb::FilterPolicy> policy;  // null for none
  // What the filter of a file with so many keys and filter bytes promises.
  std::function<FileRate(uint64_t keys, uint64_t filter_bytes)> expected_rate;
};

// The same order as in the reports: none, built-in, ours. NotSupported if the plugin was not made
// for the RocksDB in this process.
rocksdb::Status MakeVariants(std::vector<Variant>* variants);

// Of the variants above.
inline constexpr size_t kBuiltinBloom = 1;  // what the others are measured against
inline constexpr size_t kFirstOfOurs = 3;

}  // namespace rocksieve::tools
