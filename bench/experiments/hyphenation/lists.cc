// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/hyphenation/lists.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "bench/experiments/frame/program.h"
#include "bench/experiments/frame/word_list.h"

namespace rocksieve::experiments {
namespace {

constexpr char kGroff[] = "/usr/share/groff";
constexpr char kPrepare[] = "/usr/share/libhyphen/substrings.pl";

}  // namespace

std::string GroffDirectory() {
  std::string newest;
  if (std::filesystem::exists(kGroff)) {
    for (const auto& entry : std::filesystem::directory_iterator(kGroff)) {
      const std::string directory = entry.path().string() + "/tmac";
      if (std::filesystem::exists(directory + "/hyphenex.us")) newest = std::max(newest, directory);
    }
  }
  if (newest.empty()) {
    throw std::runtime_error(std::string("no tmac/hyphenex.us below ") + kGroff +
                             ": install groff-base (Debian 12: version 1.22.4)");
  }
  return newest;
}

std::vector<std::string> TexBlock(const std::string& path, const std::string& command) {
  std::ifstream file(path);
  std::vector<std::string> words;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.size(), line.find('%')));
    if (line.rfind("\\" + command + "{", 0) == 0) {
      inside = true;
      line.erase(0, command.size() + 2);
    }
    if (!inside) continue;
    const size_t end = line.find('}');
    std::istringstream rest(line.substr(0, end));
    for (std::string word; rest >> word;) words.push_back(word);
    if (end != std::string::npos) inside = false;
  }
  if (words.empty()) throw std::runtime_error("no \\" + command + "{...} in " + path);
  return words;
}

HyphenatedWord WithoutHyphens(std::string_view hyphenated) {
  HyphenatedWord result;
  for (const char c : hyphenated) {
    if (c != '-') {
      result.word += c;
    } else if (!result.word.empty()) {
      result.points |= HyphenPoints{1} << (result.word.size() - 1);
    }
  }
  return result;
}

std::vector<HyphenatedWord> AmericanExceptions() {
  const std::string directory = GroffDirectory();
  std::map<std::string, HyphenPoints> exceptions;
  for (const char* file : {"/hyphen.us", "/hyphenex.us"}) {
    for (const std::string& hyphenated : TexBlock(directory + file, "hyphenation")) {
      const HyphenatedWord word = WithoutHyphens(LowerCase(hyphenated));
      exceptions[word.word] = word.points;
    }
  }
  std::vector<HyphenatedWord> result;
  for (const auto& [word, points] : exceptions) result.push_back({word, points});
  return result;
}

Patterns::Patterns(const std::string& directory) {
  const std::string raw = directory + "/patterns.txt", prepared = directory + "/patterns.dic";
  std::ofstream file(raw);
  for (const std::string& pattern : TexBlock(GroffDirectory() + "/hyphen.us", "patterns")) {
    file << pattern << "\n";
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + raw);
  // The least numbers of letters before and after a hyphen are TeX's for American English.
  RunProgram({"perl", kPrepare, raw, prepared, "UTF-8", "2", "3"});
  dictionary_.reset(hnj_hyphen_load(prepared.c_str()));
  if (!dictionary_) throw std::runtime_error("libhyphen cannot load " + prepared);
}

HyphenPoints Patterns::PointsOf(const std::string& word) const {
  char marks[kMaxWordBytes + 5];  // as libhyphen asks for
  char** replacements = nullptr;  // these patterns have none, so nothing is allocated
  int *positions = nullptr, *cuts = nullptr;
  if (hnj_hyphen_hyphenate2(dictionary_.get(), word.c_str(), static_cast<int>(word.size()), marks,
                            nullptr, &replacements, &positions, &cuts) != 0) {
    return 0;
  }
  HyphenPoints points = 0;
  for (size_t i = 0; i < word.size(); i++) {
    points |= static_cast<HyphenPoints>(marks[i] & 1) << i;  // odd digits are hyphens
  }
  return points;
}

}  // namespace rocksieve::experiments
