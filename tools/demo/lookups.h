// Lookups of all keys, the present ones to see that none is lost, the missing ones to see what they
// cost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/status.h>

#include "support/progress.h"

namespace rocksieve::tools {

// Values are a function of the key's number, so that none need be kept.
inline constexpr uint64_t kSmallestValueBytes = 100;
inline constexpr uint64_t kLargestValueBytes = 400;

// Sets *value to pseudo-random bytes, as many as the range above allows; neither bytes nor length
// can be told from another number's.
void MakeValue(uint64_t number, std::string* value);

struct PresentCheck {
  uint64_t keys = 0;
  uint64_t lost = 0;          // Get() did not find them
  uint64_t wrong_values = 0;  // Get() found something else than MakeValue()
  std::string first_bad_key;  // of either kind, as hexadecimal digits, at most 32 bytes of it
};

// Gets every key and compares its value. Advances the progress by one per key. Aborted if
// interrupted, or RocksDB's error.
rocksdb::Status CheckPresent(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                             Progress* progress, PresentCheck* check);

struct MissingCosts {
  uint64_t keys = 0;
  uint64_t found = 0;  // 0, or something is wrong
  uint64_t data_block_reads = 0;
  uint64_t filter_probes = 0;    // a lookup asks the filters of several files
  uint64_t false_positives = 0;  // probes that were answered with "may be there"
};

// Gets every key and counts with RocksDB's PerfContext of this thread. Progress and errors as
// above.
rocksdb::Status CountMissingCosts(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                                  Progress* progress, MissingCosts* costs);

}  // namespace rocksieve::tools
