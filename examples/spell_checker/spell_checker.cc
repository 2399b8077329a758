// SPDX-License-Identifier: Apache-2.0
// A spell checker whose dictionary is a filter.
//
//   spell_checker build WORDS DICTIONARY [SPEC]     makes a dictionary of a word list
//   spell_checker check DICTIONARY                   reads text; gives words that are not in it
//   spell_checker measure DICTIONARY WORDS MISTAKES  how large it is, and how often it errs
//
// MISTAKES has a mistake, a tab, and the right word on each line.
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>

#include "examples/spell_checker/dictionary.h"

namespace {

constexpr const char* kDefaultSpec = "rocksieve.ribbon:0.01%";
constexpr size_t kMostShown = 8;

int Build(const std::string& words, const std::string& path, const std::string& spec_text) {
  rocksieve::FilterSpec spec;
  const std::string problem = rocksieve::FilterSpec::Parse(spec_text, &spec);
  if (!problem.empty()) throw std::runtime_error(problem);
  Dictionary::OfWordList(words, spec).Save(path);
  return 0;
}

int Check(const std::string& path) {
  const Dictionary dictionary = Dictionary::Load(path);
  const bool interactive = isatty(STDIN_FILENO) != 0;
  size_t line_number = 0;
  std::string line;
  for (;;) {
    if (interactive) std::cout << "> " << std::flush;
    if (!std::getline(std::cin, line)) break;
    line_number++;
    for (const std::wstring& word : WordsOf(line)) {
      if (dictionary.Knows(word)) continue;
      if (!interactive) std::cout << line_number << ": ";
      std::cout << ToUtf8(word);
      const std::vector<std::wstring> suggestions = dictionary.Suggestions(word);
      for (size_t i = 0; i < suggestions.size() && i < kMostShown; i++) {
        std::cout << (i == 0 ? ": " : ", ") << ToUtf8(suggestions[i]);
      }
      std::cout << (suggestions.size() > kMostShown ? ", ...\n" : "\n");
    }
  }
  return 0;
}

using WordSet = std::unordered_set<std::string>;

WordSet ReadWords(const std::string& path, uintmax_t* bytes) {
  std::ifstream file(path);
  WordSet words;
  for (std::string word; std::getline(file, word);) {
    *bytes += word.size() + 1;
    words.insert(word);
  }
  if (words.empty()) throw std::runtime_error("no words in " + path);
  return words;
}

bool HasInSomeSpelling(const WordSet& words, const std::wstring& word) {
  if (words.count(ToUtf8(word)) != 0) return true;
  return IsCapitalised(word) && words.count(ToUtf8(Uncapitalised(word))) != 0;
}

// Asks for everything at distance 1 of about 200 words of the list that is not in the list.
void MeasureRate(const Dictionary& dictionary, const WordSet& words) {
  std::unordered_set<std::wstring> asked;
  // In an order that does not depend on that of the file.
  const std::set<std::string_view> sorted(words.begin(), words.end());
  const size_t step = words.size() / 200 + 1;
  size_t number = 0;
  for (const std::string_view word : sorted) {
    if (number++ % step != 0) continue;
    for (const std::wstring& edit : EditsOf(FromUtf8(word), dictionary.letters())) {
      // Capitals are asked for in several spellings, and would count as often.
      if (!IsCapitalised(edit) && words.count(ToUtf8(edit)) == 0) asked.insert(edit);
    }
  }
  size_t passed = 0;
  for (const std::wstring& edit : asked) passed += dictionary.Knows(edit) ? 1 : 0;
  std::printf("%zu words with one mistake: %zu taken for right, %.4f %% (promised: %.4f %%)\n",
              asked.size(), passed,
              100.0 * static_cast<double>(passed) / static_cast<double>(asked.size()),
              100.0 * dictionary.promised_rate());
}

void MeasureMistakes(const Dictionary& dictionary, const std::string& path, const WordSet& words) {
  std::ifstream file(path);
  size_t mistakes = 0, real_words = 0, noticed = 0, corrected = 0, suggested = 0, invented = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) throw std::runtime_error(path + ": a line without a tab");
    const std::wstring mistake = FromUtf8(line.substr(0, tab)),
                       right = FromUtf8(line.substr(tab + 1));
    mistakes++;
    real_words += HasInSomeSpelling(words, mistake) ? 1 : 0;
    if (dictionary.Knows(mistake)) continue;
    noticed++;
    for (const std::wstring& suggestion : dictionary.Suggestions(mistake)) {
      suggested++;
      corrected += suggestion == right ? 1 : 0;
      invented += HasInSomeSpelling(words, suggestion) ? 0 : 1;
    }
  }
  std::printf("%zu known mistakes: %zu noticed, %zu are words too, %zu taken for words\n", mistakes,
              noticed, real_words, mistakes - noticed - real_words);
  std::printf("the right word among the suggestions: %zu times\n", corrected);
  std::printf("%zu suggestions, %zu of them no words\n", suggested, invented);
}

int Measure(const std::string& path, const std::string& words_path, const std::string& mistakes) {
  const Dictionary dictionary = Dictionary::Load(path);
  uintmax_t list_bytes = 0;
  const WordSet words = ReadWords(words_path, &list_bytes);
  std::printf("%zu words: %ju bytes as a list, %zu as a filter, %.2f bits per word\n", words.size(),
              list_bytes, dictionary.block_bytes(),
              8.0 * static_cast<double>(dictionary.block_bytes()) /
                  static_cast<double>(dictionary.words()));
  MeasureRate(dictionary, words);
  MeasureMistakes(dictionary, mistakes, words);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "build" && (argc == 4 || argc == 5)) {
    return Build(argv[2], argv[3], argc == 5 ? argv[4] : kDefaultSpec);
  }
  if (command == "check" && argc == 3) return Check(argv[2]);
  if (command == "measure" && argc == 5) return Measure(argv[2], argv[3], argv[4]);
  std::cerr << "usage: spell_checker build WORDS DICTIONARY [SPEC] | check DICTIONARY |\n"
               "       measure DICTIONARY WORDS MISTAKES\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << "spell_checker: " << error.what() << '\n';
  return 2;
}
