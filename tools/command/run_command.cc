// SPDX-License-Identifier: Apache-2.0
// The subcommands, and which one the arguments name.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/version.h>
#include <CLI/CLI.hpp>

#include "tools/command/command.h"
#include "tools/command/config_file.h"
#include "tools/command/usage.h"

namespace rocksieve::tools {
namespace {

std::string Version() {
  return "rocksieve " ROCKSIEVE_VERSION " (RocksDB " + rocksdb::GetRocksVersionAsString() + ")";
}

// Output that nobody received (a full disk behind a pipe, say) is no success.
int AfterPrinting(int exit_code) {
  if (std::cout.flush()) return exit_code;
  std::cerr << "rocksieve: cannot write to the standard output\n";
  return kCannotRun;
}

}  // namespace

int RunCommand(std::vector<std::string> words) {
  CLI::App app;
  Parser root(&app);
  DescribeParser(&root, {.name = "rocksieve",
                        .summary = "filters for RocksDB that save disk reads for missing keys",
                        .description = "COMMAND DIR is short for COMMAND --db=DIR.",
                        .exit_codes = "0 done; 1 it found something wrong; 2 could not run, or "
                                      "bad usage",
                        .example = "Example, and rocksieve COMMAND --help has more:\n"
                                   "  rocksieve demo"});
  app.set_version_flag("--version", Version(), "print the versions of rocksieve and RocksDB");
  app.require_subcommand(0, 1);  // none: see below, with a better message
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
  words = InParsersWords(app, std::move(words));
  try {
    words = WithConfig(app, words);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // it takes the last first
    if (app.get_subcommands().empty()) {
      std::cerr << app.help();
      return kCannotRun;
    }
  } catch (const CLI::Success& asked) {  // --help, --version
    return AfterPrinting(app.exit(asked));
  } catch (const CLI::ParseError& bad_usage) {
    error = MisspeltWord(app, words);
    if (error.empty()) error = bad_usage.what();
  }
  std::string name = "rocksieve";
  for (const Command& command : commands) {
    const bool is_named = !words.empty() && words[0] == command.parser->get_name();
    if (!command.parser->was_named() && !is_named) continue;  // of bad usage, it may not have seen its name
    if (error.empty()) return AfterPrinting(command.run());
    name += " " + command.parser->get_name();
  }
  std::cerr << name << ": " << error << "\n" << name << " --help says what there is.\n";
  return kCannotRun;
}

}  // namespace rocksieve::tools
