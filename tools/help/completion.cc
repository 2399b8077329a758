#include "tools/help/completion.h"

#include <algorithm>
#include <sstream>

namespace rocksieve::tools {

bool CompletesToFiles(const Flag& flag) { return flag.value.rfind("FILE", 0) == 0; }

bool CompletesToDirectories(const Flag& flag) { return flag.value == "DIR"; }

std::vector<std::string> ChoicesOf(const Flag& flag) {
  std::vector<std::string> choices;
  if (flag.value.find('|') == std::string::npos) return choices;
  std::istringstream words(flag.value);
  for (std::string word; std::getline(words, word, '|');) choices.push_back(word);
  return choices;
}

std::string FirstSentence(const std::string& text) {
  return text.substr(0, std::min({text.find(". "), text.find("; "), text.size()}));
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace rocksieve::tools
