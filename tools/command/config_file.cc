// SPDX-License-Identifier: Apache-2.0
#include "tools/command/config_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tools/command/command.h"
#include "tools/command/help.h"
#include "tools/command/usage.h"

namespace rocksieve::tools {
namespace {

constexpr char kConfig[] = "--config";

[[noreturn]] void Refuse(const std::string& what) {
  throw CLI::ParseError("--config: " + what, kCannotRun);
}

// What is wrong with the file; empty if nothing is.
std::string FaultOf(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return "there is no file " + path;
  if (!S_ISREG(file.st_mode)) return path + " is no file";
  if ((file.st_mode & 022) == 0) return "";
  return path + " says what is protected how, and other users may write it: chmod go-w " + path;
}

// Without dashes.
std::vector<std::string> KeysOf(const CLI::App& parser) {
  std::vector<std::string> keys;
  for (const Flag& flag : FlagsOf(parser)) {
    if (flag.positional || flag.name == "--help" || flag.name == kConfig) continue;
    keys.push_back(flag.name.substr(2));
  }
  return keys;
}

// Lines that CLI11 passes over in silence.
void CheckLines(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); number++) {
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    const std::string where = path + ", line " + std::to_string(number) + ": ";
    if (line[first] == '[') Refuse(where + "there are no sections in such a file: leave it out");
    if (line[first] == '=') Refuse(where + "a flag's name is missing before the =");
  }
}

void CheckItem(const CLI::ConfigItem& item, const std::vector<std::string>& keys) {
  if (const std::string name = item.fullname();
      std::find(keys.begin(), keys.end(), name) == keys.end()) {
    const std::string nearest = NearestOf(name, keys);
    Refuse("there is no flag --" + name +
           (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }
}

// Of --config=FILE or --config FILE; empty if it is not there.
std::string FileNamedIn(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size() && words[i] != "--"; i++) {
    if (words[i] == kConfig && i + 1 < words.size()) return words[i + 1];
    if (words[i].rfind(std::string(kConfig) + "=", 0) == 0) {
      return words[i].substr(sizeof(kConfig));
    }
  }
  return "";
}

bool IsGiven(const std::vector<std::string>& words, const std::string& flag) {
  return std::any_of(words.begin(), words.end(), [&flag](const std::string& word) {
    return word == flag || word.rfind(flag + "=", 0) == 0;
  });
}

}  // namespace

void AddConfigFlag(Parser* parser) {
  const auto file = std::make_shared<std::string>();
  AddText(parser, kConfig, file.get(), "FILE", "flags in a file, a line for each: sessions = 8");
  parser->app()->final_callback([file] {});  // it lives as long as the parser
}

std::vector<std::string> WithConfig(const CLI::App& root, std::vector<std::string> words) {
  const std::string path = FileNamedIn(words);
  if (words.empty() || path.empty()) return words;
  const auto is_named = [&words](const CLI::App* app) { return app->get_name() == words[0]; };
  const std::vector<const CLI::App*> commands = SubcommandsOf(root);
  const auto command = std::find_if(commands.begin(), commands.end(), is_named);
  if (command == commands.end() || (*command)->get_option_no_throw(kConfig) == nullptr) {
    return words;  // the parser says so
  }
  const std::string fault = FaultOf(path);
  if (!fault.empty()) Refuse(fault);
  CheckLines(path);
  const std::vector<std::string> keys = KeysOf(**command), given = words;
  for (const CLI::ConfigItem& item : CLI::ConfigBase().from_file(path)) {
    CheckItem(item, keys);
    const std::string flag = "--" + item.name;
    if (IsGiven(given, flag)) continue;
    for (const std::string& value : item.inputs) words.push_back(flag + "=" + value);
  }
  return words;
}

}  // namespace rocksieve::tools
