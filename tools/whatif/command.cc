#include "whatif/command.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "exit_code.h"
#include "interrupt.h"
#include "progress.h"
#include "database/open_errors.h"
#include "whatif/report.h"
#include "whatif/whatif.h"

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
    return "\"" + text + "\" is not a range of bits per entry: allowed are two whole numbers from 1 "
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
  std::ofstream file(flags.plot, std::ios::binary);
  file << SvgDrawing(ReadsChart(flags.options, results[0]));
  return file.flush() ? "" : "cannot write the picture to " + flags.plot;
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
  parser->add_option("--db", options->database, "the database; it is only read")
      ->type_name("DIR")
      ->check(NotEmpty())
      ->required();
  parser
      ->add_option("--spec", options->specs,
                   "a policy to predict: rocksieve.auto:10, bloomfilter:10:false, ribbonfilter:10, "
                   "none, ...; may be repeated")
      ->type_name("SPEC")
      ->check(NotEmpty());
  parser
      ->add_option("--bits", flags->bits,
                   "the budgets of table and picture, in bits per entry. Default: 6..20")
      ->type_name("FROM..TO");
  parser->add_option("--plot", flags->plot, "write the picture there, as SVG")
      ->type_name("FILE")
      ->check(NotEmpty());
  parser
      ->add_option("--column-family", options->column_families,
                   "only this one; may be repeated. Default: all")
      ->type_name("NAME")
      ->check(NotEmpty());
  parser
      ->add_option("--read-us", options->read_us,
                   "what a block read takes, in microseconds, for the recommendation. Default: 80")
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
       .description = "Predicts memory, false-positive rates, useless reads and times of policies, "
                      "as if each file were rewritten at its level; compares all families at equal "
                      "memory; recommends one. Reads what files say of themselves, and their "
                      "filters; times filters for a second.",
       .exit_codes = "0 done; 2 could not run, or bad usage",
       .example = "Example:\n"
                  "  rocksieve whatif --db=/data/db --spec=rocksieve.auto:10 --plot=reads.svg"});
  AddFlags(parser, flags.get());
  return {parser, [flags] { return Run(flags.get()); }};
}

}  // namespace rocksieve::tools
