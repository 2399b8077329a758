// SPDX-License-Identifier: Apache-2.0
// Sets of keys of the experiment "any_prefix", and absent prefixes of every length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/any_prefix/prefix_filter.h"

namespace rocksieve::experiments {

struct KeySample {
  std::string name, about;
  SortedKeys keys;
  SortedKeys held_out;  // a sixteenth, of which the filters know nothing
};

// Words, names of packages, paths of the installed files, made URLs, and numbers of 16 bytes. At
// most so many keys each, drawn at random. Packages: of all that apt knows; if it knows few, of
// those installed. Throws std::runtime_error that names what is missing.
std::vector<KeySample> AllKeySamples(const std::string& directory, size_t most_keys);

// Distinct prefixes with which no key begins; fewer where the keys afford fewer.
struct AbsentPrefixes {
  // A key's first bytes, the last of which is exchanged for one drawn from all bytes of all keys.
  std::vector<std::string> changed;
  // The first bytes of a held-out key.
  std::vector<std::string> held_out;
};
AbsentPrefixes AbsentPrefixesOf(const KeySample& sample, size_t length, size_t most);

struct KeyRange {
  std::string begin, end;
};

// From right after a key to the end of its directory (what it shares up to its last '/', '-' or
// '.', or else its first half), if nothing lies there.
std::vector<KeyRange> EmptyRestsOfDirectories(const KeySample& sample, size_t most);

}  // namespace rocksieve::experiments
