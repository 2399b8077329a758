// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/frame/word_list.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "lib/hash/key_hash.h"

namespace rocksieve::experiments {
namespace {

constexpr char kWordList[] = "/usr/share/dict/american-english-insane";
constexpr size_t kLongestBytes = 63;

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string> InsaneWords() {
  std::ifstream file(kWordList);
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.size() <= kLongestBytes) words.push_back(LowerCase(line));
  }
  if (words.empty()) {
    throw std::runtime_error(std::string("cannot read ") + kWordList +
                             ": install wamerican-insane");
  }
  return words;
}

std::vector<std::string> ShuffledDistinctWords() {
  std::vector<std::string> words = InsaneWords();
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  // By a hash with another seed than any filter uses.
  constexpr uint64_t kSeed = 20'000'101;
  std::sort(words.begin(), words.end(), [](const std::string& a, const std::string& b) {
    return HashKey(a, kSeed) < HashKey(b, kSeed);
  });
  return words;
}

}  // namespace rocksieve::experiments
