// Missing keys of the user's own.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>

namespace rocksieve {

// One key per line of the file, - for standard input; all bytes but newlines count, empty lines do
// not. With `hex`, each line is a key in hexadecimal digits, with or without 0x before them.
rocksdb::Status ReadProbeKeys(const std::string& path, bool hex, std::vector<std::string>* keys);

}  // namespace rocksieve
