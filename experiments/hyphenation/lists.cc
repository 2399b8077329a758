#include "experiments/hyphenation/lists.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "experiments/frame/word_list.h"

namespace rocksieve::experiments {
namespace {

constexpr char kGroff[] = "/usr/share/groff";

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

}  // namespace rocksieve::experiments
