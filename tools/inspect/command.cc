#include "tools/command/command.h"

#include <iostream>
#include <memory>
#include <string>

#include "plugin/database/open_errors.h"
#include "tools/inspect/inspection.h"
#include "tools/inspect/json_report.h"
#include "tools/inspect/report.h"

namespace rocksieve::tools {
namespace {

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
  std::cout << (flags.json ? JsonReport(inspection, flags.hex) : TextReport(inspection, flags.hex));
  return inspection.filter->problems().empty() ? kDone : kCheckFailed;
}

}  // namespace

Command AddInspectCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = AddParser(
      parent,
      {.name = "inspect",
       .summary = "the filter of one table file",
       .description =
           "Shows what the filter block says of itself, how full it is, and the rate of false "
           "positives that it promises and has; for a partitioned filter, each partition and the "
           "keys it is for. Knows the filters of rocksieve and RocksDB, and names damaged blocks. "
           "Reads no keys, and writes nothing.",
       .exit_codes = "0 done; 1 the filter is damaged; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve inspect /var/lib/app/db/000123.sst"});
  parser->add_option("FILE", flags->path, "the table file")->type_name("FILE.sst")->required();
  parser->add_flag("--hex", flags->hex, "the bytes of the filter blocks as well");
  parser->add_flag("--json", flags->json, "print one JSON document, with units in the names");
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
