#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "tools/command/command.h"
#include "tools/whatif/whatif.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

struct Flags {
  WhatIfOptions options;
  std::string bits = "6..20";
  std::string plot;
  bool json = false;
};

constexpr int kLeastBits = 1, kMostBits = 32;

// "6..20"
Status ParseBits(const std::string& text, WhatIfOptions* options) {
  int least = 0, most = 0, end = 0;
  const bool whole = std::sscanf(text.c_str(), "%d..%d%n", &least, &most, &end) == 2 &&
                     static_cast<size_t>(end) == text.size();
  if (!whole || least < kLeastBits || most > kMostBits || least >= most) {
    return Status::InvalidArgument(
        "\"" + text +
        "\" is not a range of bits per entry: allowed are two whole numbers from 1 to 32, the "
        "smaller one first, as in --bits=6..20");
  }
  options->least_bits = least;
  options->most_bits = most;
  return Status::OK();
}

// If a picture is wanted.
Status Plot(const Flags& flags, const std::vector<Chart>& charts) {
  if (flags.plot.empty()) return Status::OK();
  if (charts.size() != 1) {
    return Status::InvalidArgument(
        charts.empty() ? "--plot: the database has no table files, so there is nothing to draw"
                       : "--plot draws one column family, but several have files: choose one "
                         "with --column-family");
  }
  const std::string picture = SvgDrawing(charts[0]);
  std::error_code error;
  const bool is_new = !std::filesystem::exists(flags.plot, error);
  errno = 0;
  std::ofstream file(flags.plot, std::ios::binary);
  const bool opened = file.is_open();
  file << picture;
  file.close();
  if (file) return Status::OK();
  const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  if (opened && is_new) std::filesystem::remove(flags.plot, error);
  return Status::InvalidArgument("cannot write the picture to " + flags.plot + why +
                                 "\nName another file with --plot.");
}

int Run(Flags* flags) {
  WhatIfOptions* const options = &flags->options;
  return RunAndPrint("whatif", flags->json, [&](Progress* progress, Report* report) {
    std::vector<WhatIfResult> results;
    Status status = ParseBits(flags->bits, options);
    if (status.ok()) status = RunWhatIf(*options, progress, &results);
    if (!status.ok()) return status;
    std::vector<Chart> charts;
    for (const WhatIfResult& result : results) charts.push_back(ReadsChart(*options, result));
    report->document = WhatIfDocument(*options, results);
    report->words = [options, charts](const Json& document) {
      return WhatIfInWords(*options, charts, document);
    };
    return Plot(*flags, charts);
  });
}

void AddFlags(CLI::App* parser, Flags* flags) {
  WhatIfOptions* options = &flags->options;
  AddText(parser, "--db", &options->database, "DIR", "the database; it is only read")->required();
  AddText(parser, "--spec", &options->specs, "SPEC",
          "a policy, ours or RocksDB's; may be repeated");
  AddText(parser, "--bits", &flags->bits, "FROM..TO", "budgets, in bits per entry. Default: 6..20");
  AddText(parser, "--plot", &flags->plot, "FILE", "write the picture there, as SVG");
  AddText(parser, "--column-family", &options->column_families, "NAME",
          "only this one; may be repeated. Default: all");
  CLI::Option* const probes = AddText(parser, "--probes", &options->probes, "FILE",
                                      "missing keys of your own, one per line, - for stdin");
  parser->add_flag("--hex", options->probes_are_hex, "the keys in FILE are in hexadecimal digits")
      ->needs(probes);
  parser
      ->add_option("--read-us", options->read_us,
                   "time of a block read, for the advice. Default: 80")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber);
  AddJsonFlag(parser, &flags->json);
}

}  // namespace

Command AddWhatIfCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = AddParser(
      parent,
      {.name = "whatif",
       .summary = "what other filters would do on the tree of a database",
       .description = "Predicts memory, rates, useless reads and times, as if each file were "
                      "rewritten at its level; compares families at equal memory; recommends one. "
                      "Reads filters and some keys, and times filters for a second.",
       .exit_codes = "0 done; 2 could not run, or bad usage",
       .example = "Example:\n"
                  "  rocksieve whatif --db=/data/db --spec=rocksieve.auto:10 --plot=reads.svg"});
  AddFlags(parser, flags.get());
  return {parser, [flags] { return Run(flags.get()); }};
}

}  // namespace rocksieve::tools
