#include <memory>

#include "tools/command/command.h"
#include "tools/demo/demo.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  DemoOptions options;
  bool json = false;
};

int Run(const Flags& flags) {
  return RunAndPrint("demo", flags.json, [&](Progress* progress, Report* report) {
    report->words = DemoInWords;
    const rocksdb::Status status = RunDemo(flags.options, progress, &report->document);
    report->ok = !status.ok() || report->document["ok"].get<bool>();
    return status;
  });
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
  AddText(parser, "--keys", &flags->options.keys, "FILE",
          "one key per line, - for standard input. All bytes but newlines count "
          "(carriage returns too); empty and repeated lines do not. A random half is "
          "stored, the other half is looked up in vain. "
          "Default: /usr/share/dict/american-english-insane");
  AddJsonFlag(parser, &flags->json);
  AddText(parser, "--db-dir", &flags->options.database_directory, "DIR",
          "build the databases in DIR, new or empty, and keep them. "
          "Default: a temporary directory, removed at the end");
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
