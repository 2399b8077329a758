// SPDX-License-Identifier: Apache-2.0
// Exceptions and patterns of the experiment "hyphenation", and its measurements without their
// presentation.
#pragma once

#include <hyphen.h>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/experiments/experiment.h"
#include "bench/experiments/statistics.h"

namespace rocksieve::experiments {

// Bit i: a hyphen may follow the i-th byte of the word, counted from 0. Words of up to 64 bytes.
using HyphenPoints = uint64_t;
inline constexpr size_t kMaxWordBytes = 64;

struct HyphenatedWord {
  std::string word;
  HyphenPoints points = 0;
};

// TeX's exceptions of American English, in lower case, each word once, in order: the 14 that belong
// to Liang's patterns, and the log that TUGboat keeps (ushyphex.tex).
std::vector<HyphenatedWord> AmericanExceptions();

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

struct HyphenationSettings {
  std::vector<double> rates;
  int repeats = 30;
  // Every so many words of the list: lookups alone, and with the patterns, which take far longer.
  size_t lookup_stride = 2, hyphenation_stride = 16;
  size_t published_stride = 128;  // of the published packages, which take longer still
};

// One candidate at one rate.
struct HyphenationResult {
  std::string candidate;
  bool exact = false;
  double rate = 0;           // as asked for; 0 if exact
  double expected_rate = 0;  // as its formula promises
  double observed_rate = 0;  // of the words that are no exceptions
  size_t memory_bytes = 0;
  size_t lost = 0;           // exceptions that it does not find: of filters, a fault
  double lookups_saved = 0;  // the share of words that did not have to go to the exact table
  Mean initialisation_us;    // from the list of exceptions to a set that can be asked
  Mean lookup_ns;            // per word: the set, and for its hits the exact table
  Mean run_ns;               // per word: the same, and the patterns for all but the exceptions
};

struct HyphenationResults {
  size_t words = 0, exceptions = 0;
  size_t listed_exceptions = 0;    // of the words; duplicates counted
  size_t changed_by_patterns = 0;  // exceptions that the patterns alone would hyphenate wrongly
  Mean patterns_ns;                // per word: the patterns alone, with no exceptions
  Mean no_filter_ns;               // per word: the exact table, for every word
  std::vector<HyphenationResult> results;
};

// Appends to run->failures whatever was hyphenated otherwise than with the exact table alone.
HyphenationResults MeasureSets(const HyphenationSettings& settings,
                               const std::vector<std::string>& words,
                               const std::vector<HyphenatedWord>& exceptions,
                               const Patterns& patterns, Run* run);

}  // namespace rocksieve::experiments
