#include "tools/command/command.h"

#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "plugin/database/open_errors.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "tools/load/load.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  LoadOptions options;
  bool json = false;
};

std::string TextReport(const LoadOptions& options, const LoadResult& result) {
  const double bits = result.entries == 0 ? 0
                                          : 8 * static_cast<double>(result.filter_bytes) /
                                                static_cast<double>(result.entries);
  return Thousands(result.lines) + " lines in " + Fixed(result.seconds, 1) + " s. " +
         options.target.directory + " has " + Thousands(result.files) +
         (result.files == 1 ? " file with " : " files with ") + Thousands(result.entries) +
         " entries and " + Thousands(result.filter_bytes) + " bytes of filters, " + Fixed(bits, 2) +
         " bits per entry.\n";
}

std::string JsonReport(const LoadOptions& options, const LoadResult& result) {
  const nlohmann::ordered_json report = {{"database", options.target.directory},
                                         {"column_family", options.target.column_family},
                                         {"spec", options.target.spec},
                                         {"lines", result.lines},
                                         {"input_bytes", result.input_bytes},
                                         {"files", result.files},
                                         {"entries", result.entries},
                                         {"filter_bytes", result.filter_bytes},
                                         {"seconds", result.seconds}};
  // Names of files need not be UTF-8.
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
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
  std::cout << (flags.json ? JsonReport : TextReport)(flags.options, result);
  return kDone;
}

void AddFlags(CLI::App* parser, Flags* flags) {
  TargetOptions* target = &flags->options.target;
  const auto text = [&](const char* name, std::string* value, const char* type,
                        const char* description) {
    return parser->add_option(name, *value, description)->type_name(type)->check(NotEmpty());
  };
  text("--db", &target->directory, "DIR", "the database: a new or empty directory")->required();
  text("--spec", &target->spec, "SPEC",
       "the filters of its files: rocksieve.ribbon:10, bloomfilter:10:false, "
       "ribbonfilter:10, none, ...")
      ->required();
  text("--input", &flags->options.input, "FILE", "the lines, - for standard input")->required();
  CLI::Option* const add =
      parser->add_flag("--add", target->add,
                       "add to a database that exists, with its options; SPEC is for new files");
  text("--column-family", &target->column_family, "NAME",
       "load into this one, and make it if it is not there. Default: default");
  text("--options", &target->option_string, "STRING",
       "options of RocksDB for a new database, as in name=value;name=value")
      ->excludes(add);
  parser->add_flag("--partitioned", target->partitioned,
                   "files with partitioned filters and indexes");
  parser->add_flag("--compact", flags->options.compact, "compact everything at the end");
  parser->add_flag("--json", flags->json, "print one JSON document, with units in the names");
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
