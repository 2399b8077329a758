#include "tools/command/command.h"

#include <iostream>
#include <memory>
#include <string>

#include "plugin/database/open_errors.h"
#include "support/interrupt.h"
#include "tools/demo/demo.h"
#include "tools/demo/json_report.h"
#include "tools/demo/report.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  DemoOptions options;
  bool json = false;
};

int Run(const Flags& flags) {
  DemoResult result;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress("rocksieve demo");
    status = RunDemo(flags.options, &progress, &result);
  }
  EndByInterruptSignal();
  if (!status.ok()) {
    std::cerr << "rocksieve demo: " << MessageOf(status) << "\n";
    return kCannotRun;
  }
  std::cout << (flags.json ? JsonReport(result) : TextReport(result));
  return result.FailedChecks().empty() ? kDone : kCheckFailed;
}

}  // namespace

Command AddDemoCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = AddParser(
      parent,
      {.name = "demo",
       .summary = "what lookups of missing keys cost with each filter",
       .description = "Builds one tree of real keys six times: without filters, with RocksDB's "
                      "Bloom and Ribbon, with rocksieve.bloom, cuckoo and ribbon. Checks that no "
                      "key is lost; compares memory, disk reads, false positives, and times. "
                      "Takes half a minute and 600 MB of disk.",
       .exit_codes = "0 done; 1 a check failed (a lost key); 2 could not run, or bad usage",
       .example = "Example, with the paths of all installed files as keys:\n"
                  "  cat /var/lib/dpkg/info/*.list | rocksieve demo --keys=-"});
  parser
      ->add_option("--keys", flags->options.keys,
                   "one key per line, - for standard input. All bytes but newlines count "
                   "(carriage returns too); empty and repeated lines do not. A random half is "
                   "stored, the other half is looked up in vain. "
                   "Default: /usr/share/dict/american-english-insane")
      ->type_name("FILE")
      ->check(NotEmpty());
  parser->add_flag("--json", flags->json, "print one JSON document, with units in the names");
  parser
      ->add_option("--db-dir", flags->options.database_directory,
                   "build the databases in DIR, new or empty, and keep them. "
                   "Default: a temporary directory, removed at the end")
      ->type_name("DIR")
      ->check(NotEmpty());
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
