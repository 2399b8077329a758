// The rocksieve command: reads the arguments and hands over to a subcommand.
#include <iostream>
#include <string>
#include <vector>

#include <rocksdb/version.h>
#include <CLI/CLI.hpp>

#include "tools/command/command.h"
#include "tools/command/last_resort.h"

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

int Main(int argc, char** argv) {
  CLI::App app;
  DescribeParser(&app, {.name = "rocksieve",
                        .summary = "filters for RocksDB that save disk reads for missing keys",
                        .description = "",
                        .exit_codes = "0 done; 1 it found something wrong; 2 could not run, or "
                                      "bad usage",
                        .example = "Example, and rocksieve COMMAND --help has more:\n"
                                   "  rocksieve demo"});
  app.set_version_flag("--version", Version(), "print the versions of rocksieve and RocksDB");
  app.require_subcommand(0, 1);  // none: see below, with a better message
  std::vector<Command> commands = {AddDemoCommand(&app),    AddDoctorCommand(&app),
                                   AddExplainCommand(&app), AddInspectCommand(&app),
                                   AddLoadCommand(&app),    AddWhatIfCommand(&app)};
#ifdef ROCKSIEVE_JOIN
  for (auto add : {AddCertsCommand, AddJoinCommand, AddServeCommand}) {
    commands.push_back(add(&app));
  }
#endif
  commands.push_back(AddCompletionCommand(&app));
  commands.push_back(AddManPagesCommand(&app));

  std::string error;
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) error = "which command?";
  } catch (const CLI::Success& asked) {  // --help, --version
    return AfterPrinting(app.exit(asked));
  } catch (const CLI::ParseError& bad_usage) {
    error = bad_usage.what();
  }
  std::string name = "rocksieve";
  for (const Command& command : commands) {
    if (!*command.parser) continue;
    if (error.empty()) return AfterPrinting(command.run());
    name += " " + command.parser->get_name();
  }
  std::cerr << name << ": " << error << "\n" << name << " --help says what there is.\n";
  return kCannotRun;
}

}  // namespace
}  // namespace rocksieve::tools

int main(int argc, char** argv) {
  rocksieve::tools::PrepareForTheWorst();
  try {
    return rocksieve::tools::Main(argc, argv);
  } catch (...) {
    rocksieve::tools::PrintCurrentException();
  }
  return rocksieve::tools::kCannotRun;
}
