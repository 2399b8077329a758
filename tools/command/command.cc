// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <rocksdb/version.h>

#include "plugin/database/database.h"
#include "support/progress.h"
#include "support/text.h"
#include "tools/command/help.h"

namespace rocksieve::tools {
namespace {

int Run(const std::string& command, bool json, const MakeReport& make) {
  Report report;
  report.json = json;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress(command);
    status = make(&progress, &report);
  }
  // An interruption is nothing new to the user; what it leaves behind is.
  const bool is_news = !status.ok() && MessageOf(status) != "interrupted";
  if (is_news) std::cerr << command << ": " << WithoutControls(MessageOf(status)) << "\n";
  EndByInterruptSignal();
  if (!status.ok()) return kCannotRun;
  const Json& document = report.document;
  std::cout << (json ? Document(document)
                     : WithinColumns(WithoutControls(report.words(document)),
                                     TerminalColumns(STDOUT_FILENO)));
  const bool well = document.value("ok", true) && document.value("healthy", true);
  return well && report.found ? kDone : kCheckFailed;
}

std::string Version() {
  return "rocksieve " ROCKSIEVE_VERSION " (RocksDB " + rocksdb::GetRocksVersionAsString() + ")";
}

// Output that nobody received (a full disk behind a pipe, say) is no success.
int AfterPrinting(int exit_code) {
  if (std::cout.flush()) return exit_code;
  std::cerr << "rocksieve: cannot write to the standard output\n";
  return kCannotRun;
}

using Arguments = std::vector<std::string>;

bool IsFlag(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

const CLI::App* CommandNamed(const CLI::App& root, const std::string& name) {
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// "; did you mean listen?", of the choice that most likely was meant: at most a third of its
// characters are missing, wrong, too many or exchanged; empty if there is none.
std::string Suggesting(std::string_view word, const Arguments& choices) {
  std::string nearest;
  size_t least = 0;
  for (const std::string& choice : choices) {
    const size_t distance = EditDistance(word, choice);
    if (3 * distance > choice.size() || (!nearest.empty() && distance >= least)) continue;
    nearest = choice;
    least = distance;
  }
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

// The same words as the parser knows them: "help [COMMAND]" and "-h" are --help; "COMMAND DIR" is
// "COMMAND --db=DIR" where the command has that flag and no argument of its own.
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

// The first of the words that is no command or flag, and which one it may be; else empty.
std::string MisspeltWord(const CLI::App& root, const Arguments& words) {
  const CLI::App* parser = &root;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (IsFlag(word)) {
      const std::string name = word.substr(0, word.find('='));
      const bool is_short = name[1] != '-';  // -o, -oFILE, or a value as -1
      if (is_short && std::isdigit(static_cast<unsigned char>(name[1])) != 0) continue;
      if (parser->get_option_no_throw(is_short ? name.substr(0, 2) : name) != nullptr) continue;
      Arguments known;
      for (const Flag& flag : FlagsOf(*parser)) {
        if (!flag.positional) known.push_back(flag.name);
      }
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

// The words of the command line and, behind them, those that the file of their --config stands for;
// what is given on the command line counts. CLI11 itself reads such files for the root alone.
// Throws CLI::ParseError for a key that is no flag, for sections, and for a file that cannot be read
// or that other users may write.
std::vector<std::string> WithConfig(const CLI::App& root, std::vector<std::string> words) {
  const std::string path = FileNamedIn(words);
  if (words.empty() || path.empty()) return words;
  const CLI::App* const command = CommandNamed(root, words[0]);
  if (command == nullptr || command->get_option_no_throw(kConfig) == nullptr) {
    return words;  // the parser says so
  }
  const std::string fault = FaultOf(path);
  if (!fault.empty()) Refuse(fault);
  CheckLines(path);
  const std::vector<std::string> keys = KeysOf(*command), given = words;
  for (const CLI::ConfigItem& item : CLI::ConfigBase().from_file(path)) {
    const std::string name = item.fullname();
    if (std::find(keys.begin(), keys.end(), name) == keys.end()) {
      Refuse("there is no flag --" + name + Suggesting(name, keys));
    }
    const std::string flag = "--" + item.name;
    if (IsGiven(given, flag)) continue;
    for (const std::string& value : item.inputs) words.push_back(flag + "=" + value);
  }
  return words;
}

}  // namespace

Parser* AddParser(Parser* parent, const CommandText& text) {
  Parser* parser = parent->add_subcommand(text.name);
  DescribeParser(parser, text);
  return parser;
}

std::string NotEmpty(const std::string& text) { return text.empty() ? "must not be empty" : ""; }

CLI::Validator Between(double least, double most) {
  const auto refuse_nan = [](std::string& text) {
    double number = 0;
    return CLI::detail::lexical_cast(text, number) && std::isnan(number) ? text + " is not a number"
                                                                         : std::string();
  };
  return CLI::Range(least, most) & CLI::Validator(refuse_nan, "");
}

void AddJsonFlag(Parser* parser, bool* json) {
  parser->add_flag("--json", *json, "print one JSON document, with units in the names");
}

Command Reporting(Parser* parser, MakeReport make) {
  const auto json = std::make_shared<bool>(false);
  AddJsonFlag(parser, json.get());
  const std::string command = "rocksieve " + parser->get_name();
  return {parser, [=, make = std::move(make)] { return Run(command, *json, make); }};
}

void AddConfigFlag(Parser* parser) {
  const auto file = std::make_shared<std::string>();
  AddText(parser, kConfig, file.get(), "FILE", "flags in a file, a line for each: sessions = 8");
  parser->final_callback([file] {});  // it lives as long as the parser
}

// The subcommands, and which one the arguments name.
int RunCommand(std::vector<std::string> words) {
  Parser root;
  DescribeParser(&root, {.name = "rocksieve",
                        .summary = "filters for RocksDB that save disk reads for missing keys",
                        .description = "COMMAND DIR is short for COMMAND --db=DIR.",
                        .exit_codes = "0 done; 1 it found something wrong; 2 could not run, or "
                                      "bad usage",
                        .example = "Example, and rocksieve COMMAND --help has more:\n"
                                   "  rocksieve demo"});
  root.set_version_flag("--version", Version(), "print the versions of rocksieve and RocksDB");
  root.require_subcommand(0, 1);  // none: see below, with a better message
  std::vector<Command> commands = {AddDemoCommand(&root), AddDistinctCommand(&root),
                                   AddDoctorCommand(&root), AddExplainCommand(&root)};
#ifdef ROCKSIEVE_EXPORTER
  commands.push_back(AddExporterCommand(&root));
#endif
  for (auto add : {AddFilterCommand, AddIngestCommand, AddInspectCommand, AddLoadCommand,
                   AddReportCommand, AddWhatIfCommand}) {
    commands.push_back(add(&root));
  }
#ifdef ROCKSIEVE_JOIN
  for (auto add : {AddCertsCommand, AddDiffCommand, AddJoinCommand, AddServeCommand}) {
    commands.push_back(add(&root));
  }
#endif
  commands.push_back(AddCompletionCommand(&root));
  commands.push_back(AddManPagesCommand(&root));

  std::string error;
  words = InParsersWords(root, std::move(words));
  try {
    words = WithConfig(root, words);
    root.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // it takes the last first
    if (root.get_subcommands().empty()) {
      std::cerr << root.help();
      return kCannotRun;
    }
  } catch (const CLI::Success& asked) {  // --help, --version
    return AfterPrinting(root.exit(asked));
  } catch (const CLI::ParseError& bad_usage) {
    error = MisspeltWord(root, words);
    if (error.empty()) error = bad_usage.what();
  }
  std::string name = "rocksieve";
  for (const Command& command : commands) {
    const bool is_named = !words.empty() && words[0] == command.parser->get_name();
    // Of bad usage, it may not have seen its name.
    if (!command.parser->parsed() && !is_named) continue;
    if (error.empty()) return AfterPrinting(command.run());
    name += " " + command.parser->get_name();
  }
  std::cerr << name << ": " << error << "\n" << name << " --help says what there is.\n";
  return kCannotRun;
}

}  // namespace rocksieve::tools
