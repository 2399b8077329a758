// SPDX-License-Identifier: Apache-2.0
// Keys that are not in a column family, where its data is and like its keys.
//
// A filter of whole keys cannot tell one missing key from another; what matters is where it lies
// (in the ranges of which files), and, for prefix filters, which prefix it has. So the keys are
// placed like the data: between two keys that are neighbours in the database, which proves that
// they are missing; of their length, if something fits, and of bytes that the data has at the same
// place: digits stay digits. Where nothing fits, as between the consecutive numbers 17 and 18, a
// key is made longer, if the data has keys of several lengths, or too few fit anywhere; of a tree
// with range filters, to which a longer key may be the same, if none fits anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve {

struct MissingKeys {
  std::vector<std::string> keys;
  // True if the keys could not be read, so that these lie between the ends of files: that they are
  // missing is then likely only, and their places do not follow the data.
  bool from_ranges_only = false;
  std::string why;  // in that case
};

// About `count` keys; none if the tree has no files. The same for the same tree and count. Reads
// some thousand keys of the database. Advances by one per key.
rocksdb::Status MakeMissingKeys(const Database& database, size_t family, const Tree& tree,
                                uint64_t count, Progress* progress, MissingKeys* missing);

// Missing keys of the user's own: one key per line of the file, - for standard input; all bytes but
// newlines count, empty lines do not. With `hex`, each line is a key in hexadecimal digits, with or
// without 0x before them.
rocksdb::Status ReadProbeKeys(const std::string& path, bool hex, std::vector<std::string>* keys);

}  // namespace rocksieve
