#include "experiments/set_operations/two_nodes.h"

#include <algorithm>
#include <iterator>
#include <random>

#include "experiments/frame/word_list.h"

namespace rocksieve::experiments {

TwoNodes WordsOfTwoNodes(const std::string& name, double share_of_both, size_t stride,
                         uint64_t seed) {
  std::vector<std::string> words = InsaneWords();
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  TwoNodes nodes;
  nodes.name = name;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  for (size_t i = 0; i < words.size(); i += stride) {
    const double draw = uniform(random), half_of_rest = share_of_both + (1 - share_of_both) / 2;
    if (draw < half_of_rest) nodes.here.push_back(words[i]);
    if (draw < share_of_both || draw >= half_of_rest) nodes.there.push_back(words[i]);
  }
  std::set_difference(nodes.here.begin(), nodes.here.end(), nodes.there.begin(), nodes.there.end(),
                      std::back_inserter(nodes.only_here));
  return nodes;
}

}  // namespace rocksieve::experiments
