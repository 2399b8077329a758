// The keys of two nodes, words of a list, and what set operations on them should give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocksieve::experiments {

struct TwoNodes {
  std::string name;
  std::vector<std::string> here, there;  // sorted, each once
  std::vector<std::string> only_here;    // by std::set_difference
};

// Of the words of wamerican-insane every stride-th one is somewhere: at both nodes with a
// probability of share_of_both, else at one of them, which is as likely as the other.
TwoNodes WordsOfTwoNodes(const std::string& name, double share_of_both, size_t stride,
                         uint64_t seed);

}  // namespace rocksieve::experiments
