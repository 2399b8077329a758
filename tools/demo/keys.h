// The keys of the demonstration: half of them are stored, and the other half is missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

namespace rocksieve::tools {

// Keys that are missing for real are of the same shape as those that are present, so both are drawn
// from the same lines. The views point into the text, hence no copies.
struct Keys {
  Keys() = default;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  uint64_t distinct() const { return present.size() + missing.size(); }

  std::string text;
  uint64_t lines = 0;                     // as read, with empty and repeated ones
  std::vector<std::string_view> present;  // in random order; one more than missing if odd
  std::vector<std::string_view> missing;  // in random order
};

// Reads one key per line from a file, or from the standard input if `source` is "-". A key is every
// byte between two newlines (of a file with DOS line ends, the carriage return too); empty lines
// and repetitions are dropped. The same set of keys is always split and ordered in the same way.
// Memory: the file, and 16 bytes per line. InvalidArgument if there is no key, or no such file.
rocksdb::Status LoadKeys(const std::string& source, Keys* keys);

}  // namespace rocksieve::tools
