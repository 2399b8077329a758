#include "inspect/command.h"

#include <iostream>
#include <memory>
#include <string>

#include "database/open_errors.h"
#include "exit_code.h"
#include "inspect/inspection.h"
#include "inspect/json_report.h"
#include "inspect/report.h"

namespace rocksieve::tools {
namespace {

constexpr char kHelp[] =
    R"(rocksieve inspect: the filter of one table file

Shows what the filter block says of itself, how full it is, and the rate of
false positives that it promises and has; for a partitioned filter, each
partition and the keys it is for. Knows the filters of rocksieve and RocksDB,
and names damaged blocks. Reads no keys, and writes nothing.

Usage: rocksieve inspect FILE.sst [--hex] [--json]

  --hex   the bytes of the filter blocks as well
  --json  print one JSON document, with units in the names
  --help  print this

Exit codes: 0 done; 1 the filter is damaged; 2 could not run, or bad usage

Example:
  rocksieve inspect /var/lib/app/db/000123.sst
)";

struct Flags {
  std::string path;
  bool hex = false;
  bool json = false;
};

int Run(const Flags& flags) {
  Inspection inspection;
  const rocksdb::Status status = Inspect(flags.path, &inspection);
  if (!status.ok()) {
    std::cerr << "rocksieve inspect: " << MessageOf(status) << "\n";
    return kCannotRun;
  }
  std::cout << (flags.json ? JsonReport(inspection, flags.hex)
                           : TextReport(inspection, flags.hex));
  return inspection.filter->problems().empty() ? kDone : kCheckFailed;
}

}  // namespace

Command AddInspectCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = parent->add_subcommand("inspect");
  parser->set_help_flag("--help");
  parser->formatter_fn(
      [](const CLI::App*, const std::string&, CLI::AppFormatMode) { return kHelp; });
  parser->add_option("FILE", flags->path)->required();
  parser->add_flag("--hex", flags->hex);
  parser->add_flag("--json", flags->json);
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
