// SPDX-License-Identifier: Apache-2.0
// Exceptions and patterns of the hyphenation experiment.
#pragma once

#include <hyphen.h>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve::experiments {

// Bit i: a hyphen may follow the i-th byte of the word, counted from 0. Words of up to 64 bytes.
using HyphenPoints = uint64_t;
inline constexpr size_t kMaxWordBytes = 64;

struct HyphenatedWord {
  std::string word;
  HyphenPoints points = 0;
};

// Where groff keeps Liang's patterns and TeX's exceptions: the newest version's directory. Throws
// std::runtime_error that names the package.
std::string GroffDirectory();

// The words between the braces of a \COMMAND{...} in a TeX file; comments are left out.
std::vector<std::string> TexBlock(const std::string& path, const std::string& command);

// TeX's exceptions of American English, in lower case, each word once, in order: the 14 that belong
// to Liang's patterns, and the log that TUGboat keeps (ushyphex.tex).
std::vector<HyphenatedWord> AmericanExceptions();

// "hy-phen-ation" -> "hyphenation" with bits 1 and 5. REQUIRES: at most kMaxWordBytes letters.
HyphenatedWord WithoutHyphens(std::string_view hyphenated);

// Hyphenation by Liang's patterns alone, with libhyphen.
//
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
