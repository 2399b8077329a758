// SPDX-License-Identifier: Apache-2.0
// A subcommand adds itself to the command's parser: its flags, its help, its exit codes.
//
//   Parser* parser = AddParser(parent, {.name = "demo", .summary = ..., ...});
//   parser->add_option("--keys", keys, "one key per line")->type_name("FILE")->check(NotEmpty);
//   return Reporting(parser, [options](Progress* progress, Report* report) { ... });
//
// That is all: --help, the man page and the shell completion are made from the parser (help.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <rocksdb/status.h>

#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

using CLI::Option;
using Parser = CLI::App;  // keeps what it parses in variables, which must outlive it

// What the command tells its caller. The --help texts document the same numbers.
enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,  // it ran, and something is wrong: a lost key, say
  kCannotRun = 2,    // bad usage, or something in the way: a missing file, a full disk
};

struct Command {
  Parser* parser = nullptr;  // owned by its parent
  std::function<int()> run;    // REQUIRES: the arguments are parsed. Returns an ExitCode.
};

Command AddCertsCommand(Parser* parent);
Command AddDemoCommand(Parser* parent);
Command AddDiffCommand(Parser* parent);
Command AddDistinctCommand(Parser* parent);
Command AddDoctorCommand(Parser* parent);
Command AddExplainCommand(Parser* parent);
Command AddExporterCommand(Parser* parent);
Command AddFilterCommand(Parser* parent);
Command AddIngestCommand(Parser* parent);
Command AddInspectCommand(Parser* parent);
Command AddJoinCommand(Parser* parent);
Command AddLoadCommand(Parser* parent);
Command AddReportCommand(Parser* parent);
Command AddServeCommand(Parser* parent);
Command AddWhatIfCommand(Parser* parent);
Command AddCompletionCommand(Parser* parent);
// `rocksieve man-pages`, which the build calls and --help does not list.
Command AddManPagesCommand(Parser* parent);

// Does what the arguments say, without the program's name. An ExitCode.
int RunCommand(std::vector<std::string> words);

// ASCII. Lines are broken anew, but for those that begin with a space; an empty line ends a
// paragraph.
struct CommandText {
  std::string name;
  std::string summary;      // half a line, begins small and has no full stop
  std::string description;  // what it does, and what that costs
  std::string exit_codes;   // "0 done; 1 ..."
  std::string example;      // "Example, with ...:\n  rocksieve ..."
};

// A parser with --help. Every flag and argument that is added to it has a description ("Default:
// ..." at its end) and, if it takes a value, a type name: DIR and FILE complete to paths, a|b to
// either, any other to nothing.
Parser* AddParser(Parser* parent, const CommandText& text);

// The same for the command itself: `name` is not that of a subcommand.
void DescribeParser(Parser* parser, const CommandText& text);

// The group of flags that few need: --help only names them, the manual page describes them.
inline constexpr char kRareFlags[] = "rare";

// Refuses "--flag=".
std::string NotEmpty(const std::string& text);

// Refuses numbers that do not lie there, NaN too, which CLI::Range lets pass.
CLI::Validator Between(double least, double most);

// A flag with a value that is not empty.
template <typename Value>
Option* AddText(Parser* parser, const char* name, Value* value, const char* type,
                     const std::string& description) {
  return parser->add_option(name, *value, description)->type_name(type)->check(NotEmpty);
}
void AddJsonFlag(Parser* parser, bool* json);

// What a command found out, defined once: the document that --json prints, and the words that are
// made of it. If it says "ok" or "healthy" is false, something is wrong: kCheckFailed; so it is for
// a command that finds nothing, as grep does.
struct Report {
  Json document;
  std::function<std::string(const Json&)> words;
  bool found = true;
  bool json = false;  // set before: what --json says
};

// Asks InterruptSignal() now and then, or Progress does.
using MakeReport = std::function<rocksdb::Status(Progress*, Report*)>;

// A command that makes a report, with progress on stderr, and prints it or the error; or ends by
// the signal if interrupted. Adds --json to the flags.
Command Reporting(Parser* parser, MakeReport make);

// Adds --config=FILE: the flags of a command in a file, "listen = 0.0.0.0:7420", a line for each. A
// key is a flag without its dashes; a flag without a value is true or false; what may be repeated
// has an array, ["a", "b"]. # begins a comment.
void AddConfigFlag(Parser* parser);

}  // namespace rocksieve::tools
