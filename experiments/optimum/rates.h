// False-positive rates, counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/filter.h>

namespace rocksieve::experiments {

struct CountedRate {
  uint64_t hits = 0, asked = 0;

  double Rate() const { return static_cast<double>(hits) / static_cast<double>(asked); }
  // Half the width of the 95 % score interval of a binomial share, which has a width even where
  // there was no hit. E. B. Wilson, "Probable inference, the law of succession, and statistical
  // inference", 1927.
  double HalfWidth95() const;
  // How many standard errors it is away from a rate; 0 if that is 0.
  double ScoreAgainst(double rate) const;
};

// Missing keys: the other words of the list, and as many random hashes as asked for, which stand
// for the hashes of keys.
struct MissingKeys {
  std::vector<std::string> words;
  uint64_t random_hashes = 0;
};

template <typename AnyFilter>
CountedRate CountWords(const AnyFilter& filter, const MissingKeys& missing) {
  CountedRate rate;
  rate.asked = missing.words.size();
  for (const std::string& word : missing.words) rate.hits += filter.MayContain(word);
  return rate;
}

// BloomFilter and Filter, by their MayContainHash().
CountedRate CountRandom(const BloomFilter& filter, const MissingKeys& missing);
CountedRate CountRandom(const Filter& filter, const MissingKeys& missing);

}  // namespace rocksieve::experiments
