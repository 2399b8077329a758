// SPDX-License-Identifier: Apache-2.0
// A word list as a filter: all that a spell checker must ask of it is whether a word is in it.
//
// A word of the list is never called a mistake. Of the mistakes, the filter's rate is taken for
// words; and a suggestion is one of hundreds of candidates, each of which may be such a one, so the
// rate must be well below 1 / (candidates): 0.01 %, not 1 %.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/filter.h>

class Dictionary {
 public:
  // Reads a list of one word a line, in UTF-8. Throws std::runtime_error, as all of these.
  static Dictionary OfWordList(const std::string& path, const rocksieve::FilterSpec& spec);
  // What Save() wrote: the letters of the language on a line, then the filter's block.
  static Dictionary Load(const std::string& path);
  void Save(const std::string& path) const;

  // As it is written here, or as it is written where no sentence begins and nobody shouts.
  bool Knows(const std::wstring& word) const;

  // Words at an edit distance of 1: two neighbouring letters swapped, one too many, one wrong, one
  // missing (Damerau, "A technique for computer detection and correction of spelling errors",
  // 1964, who found four of five mistakes to be of these kinds). In that order.
  std::vector<std::wstring> Suggestions(const std::wstring& word) const;

  size_t block_bytes() const { return block_.size(); }
  uint64_t words() const { return opened_.info.key_count; }
  double promised_rate() const { return rocksieve::ExpectedFalsePositiveRate(opened_.info); }
  const std::wstring& letters() const { return letters_; }

 private:
  Dictionary(std::wstring letters, std::string block);
  bool Has(const std::wstring& word) const;

  std::wstring letters_;  // the usual small ones, apostrophe and hyphen
  // In a vector, whose bytes stay where they are when it is moved: the filter reads them in place.
  std::vector<char> block_;
  rocksieve::OpenedFilter opened_;
};

// All strings at an edit distance of 1, in the order above; some of them more than once.
std::vector<std::wstring> EditsOf(const std::wstring& word, const std::wstring& letters);

// TEXT AS LETTERS: UTF-8 in and out, words of a line, capitals. In any script whose words are
// letters; knows nothing of languages.
//
// REQUIRES of all, and of Dictionary: std::setlocale(LC_CTYPE, "C.UTF-8").

// Bytes that are no UTF-8 become U+FFFD, which is no letter.
std::wstring FromUtf8(std::string_view text);
std::string ToUtf8(const std::wstring& text);

// Runs of at least two letters, with apostrophes inside: "the dog's tail" has three words.
std::vector<std::wstring> WordsOf(std::string_view line);

bool IsCapitalised(const std::wstring& word);
// With a small, or a capital, first letter; the others as they are.
std::wstring Uncapitalised(std::wstring word);
std::wstring Capitalised(std::wstring word);
// With all letters small.
std::wstring Lowered(std::wstring word);
