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

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "plugin/probe/key_space.h"
#include "support/progress.h"

namespace rocksieve {

// Makes keys that look like those of a database.
//
// Two things are learned of them. Which bytes they have at which place: digits stay digits, dashes
// dashes. And how alike neighbours are: a key of UUIDs shares a few bytes with its neighbours,
// one of "user17/item4" mostly all up to the slash. For filters of prefixes that decides whether
// the prefix of a missing key is there.
class KeyShape {
 public:
  // Three keys that follow each other in the database.
  void Learn(std::string_view before, std::string_view key, std::string_view after);
  void Learn(std::string_view key);

  // How many of its first bytes a key between two neighbours might share with one of them, if
  // these two have `common` bytes in common: as it is with the keys learned.
  size_t LikelyCommonBytes(size_t common, Random* random) const;

  // A key of the length of `like` that has its first `keep` bytes, others as the keys learned, and
  // lies bytewise between `low` and `high` (not always: a few attempts are made). Empty if not.
  std::string Variation(std::string_view like, size_t keep, std::string_view low,
                        std::string_view high, Random* random) const;

  // The key, and one to eight bytes more.
  std::string Longer(std::string_view key, Random* random) const;

 private:
  static constexpr size_t kPlaces = 64;  // all further ones are taken together

  const std::string& BytesAt(size_t place) const;

  // In the order of their first appearance.
  std::array<std::string, kPlaces + 1> bytes_at_;
  std::array<std::bitset<256>, kPlaces + 1> seen_at_;
  // Of keys whose neighbours have n bytes in common: how many more the key has with one of them.
  std::map<size_t, std::vector<size_t>> more_in_common_;
};

struct MissingKeys {
  std::vector<std::string> keys;
  // True if the keys could not be read, so that these lie between the ends of files: that they are
  // missing is then likely only, and their places do not follow the data.
  bool from_ranges_only = false;
  std::string why;  // in that case
};

// About `count` keys; none if the tree has no files. The same for the same tree and count. Reads
// some thousand keys of the database. Advances by one per key.
rocksdb::Status MakeMissingKeys(const Tree& tree, uint64_t count, Progress* progress,
                                MissingKeys* missing);

// Missing keys of the user's own: one key per line of the file, - for standard input; all bytes but
// newlines count, empty lines do not. With `hex`, each line is a key in hexadecimal digits, with or
// without 0x before them.
rocksdb::Status ReadProbeKeys(const std::string& path, bool hex, std::vector<std::string>* keys);

}  // namespace rocksieve
