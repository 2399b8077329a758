#include "tools/command/command.h"

#include <iostream>
#include <memory>
#include <string>

#include "plugin/database/open_errors.h"
#include "support/progress.h"
#include "support/text.h"
#include "tools/load/load.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  LoadOptions options;
  bool json = false;
};

Json DocumentOf(const LoadOptions& options, const LoadResult& result) {
  return {{"database", options.target.directory},
          {"column_family", options.target.column_family},
          {"spec", options.target.spec},
          {"lines", result.lines},
          {"input_bytes", result.input_bytes},
          {"files", result.files},
          {"entries", result.entries},
          {"filter_bytes", result.filter_bytes},
          {"seconds", result.seconds}};
}

std::string InWords(const Json& loaded) {
  const auto entries = loaded["entries"].get<double>();
  const double bits = entries == 0 ? 0 : 8 * loaded["filter_bytes"].get<double>() / entries;
  return Filled("{lines} lines in {seconds:.1} s. {database} has {files} ", loaded) +
         (loaded["files"] == 1 ? "file" : "files") +
         Filled(" with {entries} entries and {filter_bytes} bytes of filters, ", loaded) +
         Fixed(bits, 2) + " bits per entry.\n";
}

int Run(const Flags& flags) {
  LoadResult result;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress("rocksieve load");
    status = Load(flags.options, &progress, &result);
  }
  if (!status.ok()) std::cerr << "rocksieve load: " << MessageOf(status) << "\n";
  EndByInterruptSignal();
  if (!status.ok()) return kCannotRun;
  const Json document = DocumentOf(flags.options, result);
  std::cout << (flags.json ? Document(document) : InWords(document));
  return kDone;
}

void AddFlags(CLI::App* parser, Flags* flags) {
  TargetOptions* target = &flags->options.target;
  AddText(parser, "--db", &target->directory, "DIR", "the database: a new or empty directory")
      ->required();
  AddText(parser, "--spec", &target->spec, "SPEC",
          "the filters of its files: rocksieve.ribbon:10, bloomfilter:10:false, "
          "ribbonfilter:10, none, ...")
      ->required();
  AddText(parser, "--input", &flags->options.input, "FILE", "the lines, - for standard input")
      ->required();
  CLI::Option* const add =
      parser->add_flag("--add", target->add,
                       "add to a database that exists, with its options; SPEC is for new files");
  AddText(parser, "--column-family", &target->column_family, "NAME",
          "load into this one, and make it if it is not there. Default: default");
  AddText(parser, "--options", &target->option_string, "STRING",
          "options of RocksDB for a new database, as in name=value;name=value")
      ->excludes(add);
  parser->add_flag("--partitioned", target->partitioned,
                   "files with partitioned filters and indexes");
  parser->add_flag("--compact", flags->options.compact, "compact everything at the end");
  AddJsonFlag(parser, &flags->json);
}

}  // namespace

Command AddLoadCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = AddParser(
      parent,
      {.name = "load",
       .summary = "a database from lines of text, for trying things out",
       .description = "A line is a key, or a key, a TAB and a value; of lines with equal keys the "
                      "last one wins. Any order, any number; at most 8 MiB each.",
       .exit_codes = "0 done; 2 could not run, or bad usage. After Ctrl-C, as after an error, the "
                     "database is intact and holds the first lines of the input.",
       .example = "Example:\n"
                  "  seq 1000000 | rocksieve load --db=/tmp/db --spec=rocksieve.bloom:10 "
                  "--input=-"});
  AddFlags(parser, flags.get());
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
