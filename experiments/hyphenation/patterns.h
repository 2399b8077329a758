// Hyphenation by Liang's patterns alone, with libhyphen.
#pragma once

#include <hyphen.h>

#include <memory>
#include <string>

#include "experiments/hyphenation/lists.h"

namespace rocksieve::experiments {

// Source: F. M. Liang, "Word Hy-phen-a-tion by Com-put-er", 1983. The patterns are those that groff
// took over from TeX. hyph_en_US.dic of the package hyphen-en-us would not do here: TUGboat's
// exceptions are among its patterns.
// Thread safety: none.
class Patterns {
 public:
  // Writes the patterns, prepared by libhyphen's substrings.pl, into `directory`, and loads them.
  // Throws std::runtime_error that says what is missing.
  explicit Patterns(const std::string& directory);

  // REQUIRES: word.size() <= kMaxWordBytes. Costs some 400 ns.
  HyphenPoints PointsOf(const std::string& word) const;

 private:
  struct Free {
    void operator()(HyphenDict* dictionary) const { hnj_hyphen_free(dictionary); }
  };
  std::unique_ptr<HyphenDict, Free> dictionary_;
};

}  // namespace rocksieve::experiments
