#include "tools/command/command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include "plugin/database/open_errors.h"
#include "support/interrupt.h"
#include "support/progress.h"
#include "tools/whatif/report.h"
#include "tools/whatif/whatif.h"

namespace rocksieve::tools {
namespace {

struct Flags {
  WhatIfOptions options;
  std::string bits = "6..20";
  std::string plot;
  bool json = false;
};

constexpr int kLeastBits = 1, kMostBits = 32;

// "6..20"; empty if it is right.
std::string ParseBits(const std::string& text, WhatIfOptions* options) {
  int least = 0, most = 0, end = 0;
  const bool whole = std::sscanf(text.c_str(), "%d..%d%n", &least, &most, &end) == 2 &&
                     static_cast<size_t>(end) == text.size();
  if (!whole || least < kLeastBits || most > kMostBits || least >= most) {
    return "\"" + text +
           "\" is not a range of bits per entry: allowed are two whole numbers from 1 "
           "to 32, the smaller one first, as in --bits=6..20";
  }
  options->least_bits = least;
  options->most_bits = most;
  return "";
}

int Fail(const std::string& message) {
  std::cerr << "rocksieve whatif: " << message << "\n";
  return kCannotRun;
}

// Empty if the picture is written, or none is wanted.
std::string Plot(const Flags& flags, const std::vector<WhatIfResult>& results) {
  if (flags.plot.empty()) return "";
  if (results.size() != 1) {
    return results.empty() ? "--plot: the database has no table files, so there is nothing to draw"
                           : "--plot draws one column family, but several have files: choose one "
                             "with --column-family";
  }
  const std::string picture = SvgDrawing(ReadsChart(flags.options, results[0]));
  std::error_code error;
  const bool is_new = !std::filesystem::exists(flags.plot, error);
  errno = 0;
  std::ofstream file(flags.plot, std::ios::binary);
  const bool opened = file.is_open();
  file << picture;
  file.close();
  if (file) return "";
  const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  if (opened && is_new) std::filesystem::remove(flags.plot, error);
  return "cannot write the picture to " + flags.plot + why + "\nName another file with --plot.";
}

int Run(Flags* flags) {
  const std::string bits_error = ParseBits(flags->bits, &flags->options);
  if (!bits_error.empty()) return Fail(bits_error);
  std::vector<WhatIfResult> results;
  rocksdb::Status status;
  {
    InterruptGuard guard;
    Progress progress("rocksieve whatif");
    status = RunWhatIf(flags->options, &progress, &results);
  }
  EndByInterruptSignal();
  if (!status.ok()) return Fail(MessageOf(status));
  const std::string plot_error = Plot(*flags, results);
  if (!plot_error.empty()) return Fail(plot_error);
  std::cout << (flags->json ? JsonReport : TextReport)(flags->options, results);
  return kDone;
}

void AddFlags(CLI::App* parser, Flags* flags) {
  WhatIfOptions* options = &flags->options;
  const auto text = [&](const char* name, auto* value, const char* type, const char* description) {
    return parser->add_option(name, *value, description)->type_name(type)->check(NotEmpty());
  };
  text("--db", &options->database, "DIR", "the database; it is only read")->required();
  text("--spec", &options->specs, "SPEC", "a policy, ours or RocksDB's; may be repeated");
  text("--bits", &flags->bits, "FROM..TO", "budgets, in bits per entry. Default: 6..20");
  text("--plot", &flags->plot, "FILE", "write the picture there, as SVG");
  text("--column-family", &options->column_families, "NAME",
       "only this one; may be repeated. Default: all");
  CLI::Option* const probes = text("--probes", &options->probes, "FILE",
                                   "missing keys of your own, one per line, - for stdin");
  parser->add_flag("--hex", options->probes_are_hex, "the keys in FILE are in hexadecimal digits")
      ->needs(probes);
  parser
      ->add_option("--read-us", options->read_us,
                   "time of a block read, for the advice. Default: 80")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber);
  parser->add_flag("--json", flags->json, "print one JSON document, with units in the names");
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
