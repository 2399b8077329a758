// Sets of real data: what Debian's packages say of themselves, and which files they have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rocksieve::experiments {

// Numbers that stand for words, shingles, names: equal if those are equal. In order, each once.
using ElementSet = std::vector<uint32_t>;

struct Corpus {
  std::string name;   // short
  std::string about;  // what the sets are, for people
  std::vector<std::string> titles;
  std::vector<ElementSet> sets;  // as many, none of fewer than kLeastElements
};

inline constexpr size_t kLeastElements = 5;

// The descriptions of the installed packages, as sets of runs of three words.
Corpus InstalledDescriptions(const std::string& directory);

// The names, without folders, of the files that each installed package has.
Corpus InstalledFiles();

// Of all packages that apt knows of, the lines that describe them, as sets of runs of five bytes;
// every n-th, so that there are at most most_sets. Only those installed, if apt has no lists.
Corpus AvailableSummaries(const std::string& directory, size_t most_sets);

// 1 for two empty sets, as for equal ones.
double JaccardOf(const ElementSet& a, const ElementSet& b);

}  // namespace rocksieve::experiments
