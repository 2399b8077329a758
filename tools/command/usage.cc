// SPDX-License-Identifier: Apache-2.0
#include "tools/command/usage.h"

#include <algorithm>

#include "tools/command/help.h"

namespace rocksieve::tools {
namespace {

using Arguments = std::vector<std::string>;

bool IsFlag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

const CLI::App* CommandNamed(const CLI::App& root, const std::string& name) {
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// Insertions, deletions, substitutions, and exchanges of neighbours (Damerau, Communications of the
// ACM 7:3, 1964; as optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); i++) {
    for (size_t j = 0; j <= b.size(); j++) {
      size_t& here = distance[i][j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      here = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1,
                       distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        here = std::min(here, distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::string Suggesting(std::string_view word, const Arguments& choices) {
  const std::string nearest = NearestOf(word, choices);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

}  // namespace

Arguments InParsersWords(const CLI::App& root, Arguments words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  std::replace(words.begin(), end, std::string("-h"), std::string("--help"));
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    if (words.empty() || CommandNamed(root, words[0]) != nullptr) words.push_back("--help");
  }
  const CLI::App* const command = words.size() < 2 ? nullptr : CommandNamed(root, words[0]);
  if (command == nullptr || IsFlag(words[1]) || words[1].empty()) return words;
  bool has_argument = false;
  size_t most_databases = 0;
  for (const Flag& flag : FlagsOf(*command)) {
    if (flag.name == "--db") most_databases = flag.repeatable ? words.size() : 1;
    has_argument |= flag.positional;
  }
  if (has_argument) return words;
  for (size_t i = 1; i < words.size() && i <= most_databases; i++) {
    if (IsFlag(words[i]) || words[i].empty()) break;
    words[i] = "--db=" + words[i];
  }
  return words;
}

std::string MisspeltWord(const CLI::App& root, const Arguments& words) {
  const CLI::App* parser = &root;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (IsFlag(word)) {
      const std::string name = word.substr(0, word.find('='));
      Arguments known;
      for (const Flag& flag : FlagsOf(*parser)) {
        if (!flag.positional) known.push_back(flag.name);
      }
      if (std::count(known.begin(), known.end(), name) > 0) continue;
      return "there is no flag " + name + Suggesting(name, known);
    }
    if (parser != &root) continue;  // an argument, or the value of a flag
    const CLI::App* const command = CommandNamed(root, word);
    if (command != nullptr) {
      parser = command;
      continue;
    }
    Arguments known;
    for (const CLI::App* each : SubcommandsOf(root)) known.push_back(each->get_name());
    return "there is no command " + word + Suggesting(word, known);
  }
  return "";
}

std::string NearestOf(std::string_view word, const Arguments& choices) {
  std::string nearest;
  size_t least = 0;
  for (const std::string& choice : choices) {
    const size_t distance = EditDistance(word, choice);
    if (3 * distance > choice.size() || (!nearest.empty() && distance >= least)) continue;
    nearest = choice;
    least = distance;
  }
  return nearest;
}

}  // namespace rocksieve::tools
