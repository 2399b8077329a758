#include "tools/command/commands.h"

#include <iostream>
#include <memory>
#include <string>

#include "plugin/database/open_errors.h"
#include "support/interrupt.h"
#include "tools/command/exit_code.h"
#include "tools/explain/explanation.h"
#include "tools/explain/json_report.h"
#include "tools/explain/report.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  ExplainOptions options;
  bool json = false;
};

int Run(const Flags& flags) {
  Explanation explanation;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress("rocksieve explain");
    status = Explain(flags.options, &progress, &explanation);
  }
  EndByInterruptSignal();
  if (!status.ok()) {
    std::cerr << "rocksieve explain: " << MessageOf(status) << "\n";
    return kCannotRun;
  }
  std::cout << (flags.json ? JsonReport(explanation) : TextReport(explanation));
  return explanation.HasProblems() ? kCheckFailed : kDone;
}

}  // namespace

Command AddExplainCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = AddParser(
      parent,
      {.name = "explain",
       .summary = "the filters of a database, and what a missing key costs",
       .description =
           "Shows for each column family and level: files, keys, filter memory, families and "
           "settings of the filters (RocksDB's own as well), the false-positive rates that they "
           "promise and have; and the data blocks that a lookup of a missing key reads in vain. "
           "Only looks: nothing is written, other processes may go on.",
       .exit_codes = "0 done; 1 a file or filter is damaged; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve explain --db=/var/lib/app/db"});
  ExplainOptions& options = flags->options;
  parser->add_option("--db", options.directory, "the database")
      ->type_name("DIR")
      ->required()
      ->check(NotEmpty());
  parser->add_option("--column-family", options.column_families, "only this one; may be repeated")
      ->type_name("NAME")
      ->check(NotEmpty());
  CLI::Option* const probes =
      parser
          ->add_option("--probes", options.probes,
                       "missing keys of your own, one per line, - for standard input. Default: "
                       "random keys that are not there, where the data is and like it")
          ->type_name("FILE")
          ->check(NotEmpty());
  parser->add_flag("--hex", options.probes_are_hex, "the keys in FILE are in hexadecimal digits")
      ->needs(probes);
  parser->add_option("--probe-count", options.probe_count, "so many random keys. Default: 200000")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000))
      ->excludes(probes);
  parser->add_flag("--json", flags->json, "print one JSON document, with units in the names");
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
