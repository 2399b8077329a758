#include <memory>
#include <string>

#include "tools/command/command.h"
#include "tools/explain/explain.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  ExplainOptions options;
  bool json = false;
};

int Run(const Flags& flags) {
  return RunAndPrint("explain", flags.json, [&](Progress* progress, Report* report) {
    report->words = ExplainedInWords;
    const rocksdb::Status status = Explain(flags.options, progress, &report->document);
    report->ok = !status.ok() || report->document["ok"].get<bool>();
    return status;
  });
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
  AddText(parser, "--db", &options.directory, "DIR", "the database")->required();
  AddText(parser, "--column-family", &options.column_families, "NAME",
          "only this one; may be repeated");
  CLI::Option* const probes =
      AddText(parser, "--probes", &options.probes, "FILE",
              "missing keys of your own, one per line, - for standard input. Default: random keys "
              "that are not there, where the data is and like it");
  parser->add_flag("--hex", options.probes_are_hex, "the keys in FILE are in hexadecimal digits")
      ->needs(probes);
  parser->add_option("--probe-count", options.probe_count, "so many random keys. Default: 200000")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000))
      ->excludes(probes);
  AddJsonFlag(parser, &flags->json);
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
