// SPDX-License-Identifier: Apache-2.0
// A subcommand adds itself to the command's parser: its flags, its help, its exit codes.
//
//   CLI::App* parser = AddParser(parent, {.name = "demo", .summary = ..., ...});
//   parser->add_option("--keys", keys, "one key per line")->type_name("FILE")->check(NotEmpty());
//   return Reporting(parser, [options](Progress* progress, Report* report) { ... });
//
// That is all: --help, the man page and the shell completion are made from the parser (help.h).
#pragma once

#include <functional>
#include <string>

#include <rocksdb/status.h>
#include <CLI/CLI.hpp>

#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

// What the command tells its caller. The --help texts document the same numbers.
enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,  // it ran, and something is wrong: a lost key, say
  kCannotRun = 2,    // bad usage, or something in the way: a missing file, a full disk
};

struct Command {
  CLI::App* parser = nullptr;  // owned by its parent; true in a condition if it was named
  std::function<int()> run;    // REQUIRES: the arguments are parsed. Returns an ExitCode.
};

Command AddCertsCommand(CLI::App* parent);
Command AddDemoCommand(CLI::App* parent);
Command AddDiffCommand(CLI::App* parent);
Command AddDistinctCommand(CLI::App* parent);
Command AddDoctorCommand(CLI::App* parent);
Command AddExplainCommand(CLI::App* parent);
Command AddExporterCommand(CLI::App* parent);
Command AddFilterCommand(CLI::App* parent);
Command AddIngestCommand(CLI::App* parent);
Command AddInspectCommand(CLI::App* parent);
Command AddJoinCommand(CLI::App* parent);
Command AddLoadCommand(CLI::App* parent);
Command AddReportCommand(CLI::App* parent);
Command AddServeCommand(CLI::App* parent);
Command AddWhatIfCommand(CLI::App* parent);
Command AddCompletionCommand(CLI::App* parent);
// `rocksieve man-pages`, which the build calls and --help does not list.
Command AddManPagesCommand(CLI::App* parent);

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
CLI::App* AddParser(CLI::App* parent, const CommandText& text);

// The same for the command itself: `name` is not that of a subcommand.
void DescribeParser(CLI::App* parser, const CommandText& text);

// The group of flags that few need: --help only names them, the manual page describes them.
inline constexpr char kRareFlags[] = "rare";

// Refuses "--flag=".
CLI::Validator NotEmpty();

// A flag with a value that is not empty.
template <typename Value>
CLI::Option* AddText(CLI::App* parser, const char* name, Value* value, const char* type,
                     const std::string& description) {
  return parser->add_option(name, *value, description)->type_name(type)->check(NotEmpty());
}
void AddJsonFlag(CLI::App* parser, bool* json);

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
Command Reporting(CLI::App* parser, MakeReport make);

}  // namespace rocksieve::tools
