#include <memory>
#include <string>

#include "tools/command/command.h"
#include "tools/inspect/inspect.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  std::string path;
  bool hex = false;
  bool json = false;
};

int Run(const Flags& flags) {
  Report report;
  report.words = InspectedInWords;
  const rocksdb::Status status = Inspect(flags.path, flags.hex, &report.document);
  report.ok = !status.ok() || report.document["ok"].get<bool>();
  return Print("inspect", flags.json, status, report);
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
  AddJsonFlag(parser, &flags->json);
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
