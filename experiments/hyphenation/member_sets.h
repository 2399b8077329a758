// What may stand before the exact table of exceptions: filters and tables behind one interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/structures/key_set.h"

namespace rocksieve::experiments {

struct Candidate {
  std::string name;
  bool exact = false;  // then it knows no rate
  // Of all words, only to be asked. Throws std::runtime_error if not all of them find a place.
  std::function<std::unique_ptr<const KeySet>(const std::vector<std::string>& words, double rate)>
      make;
};

// All kinds of KeySet, Abseil's hash table, and our static filters.
std::vector<Candidate> Candidates();

}  // namespace rocksieve::experiments
