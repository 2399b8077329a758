// SPDX-License-Identifier: Apache-2.0
// compare: measures rocksieve's filters and RocksDB's in turns, through the interfaces that RocksDB
// itself calls, prints tables and writes all figures to a file.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "bench/compare/tables.h"
#include "bench/machine.h"

namespace rocksieve::bench {
namespace {

constexpr struct {
  const char* name;
  Table (*measure)(Run* run);
} kMeasurements[] = {{"rates", MeasureRates},     {"sizes", MeasureSizes},
                     {"small", MeasureSmall},     {"queries", MeasureQueries},
                     {"lengths", MeasureLengths}, {"cold", MeasureCold},
                     {"builds", MeasureBuilds},   {"memory", MeasureMemory},
                     {"isas", MeasureIsas},       {"targets", CompareWithTargets}};

constexpr char kHelp[] =
    R"(compare: rocksieve's filters against RocksDB's: rates, sizes, times, memory

Usage: compare [--flag=value]...

  --quick         less than a minute; --smoke: some seconds, for tests only
  --large         50 million keys as well, in the table "small"
  --only=T,...    some tables: rates sizes small queries lengths cold builds
                  memory isas targets
  --sizes=N,...   numbers of keys (20k, 1M) instead of every table's own
  --specs=S,...   filters instead of every table's own, all compared with the
                  first: rocksieve.FAMILY:AMOUNT; for RocksDB's bloomfilter:AMOUNT,
                  ribbonfilter:AMOUNT (bits per key, or a rate such as 0.1%)
  --rounds=N      of all measurements of time
  --json=FILE     where to write all figures (build/bench.json)
  --help          print this

Times are good to some percent on an idle machine; compare what one run says.
ROCKSIEVE_ISA=NAME in the environment chooses the kernels, LD_LIBRARY_PATH the
RocksDB. Exit codes: 0 done; 1 a rate is off its model, or a key was lost;
2 could not run, or bad usage; 3 this build is unfit (debug, or a sanitizer)

Example: compare --only=queries --specs=bloomfilter:10,rocksieve.bloom:10
)";

// "20k", "1M", "500"
uint64_t ParseCount(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const uint64_t factor = unit.empty() ? 1 : unit == "k" ? 1'000 : unit == "M" ? 1'000'000 : 0;
  constexpr uint64_t kMost = 200'000'000;
  if (error != std::errc() || number == 0 || factor == 0 || number > kMost / factor) {
    throw std::invalid_argument("--sizes: \"" + text +
                                "\" is not a number of keys from 1 to 200M; for example 20k,1M");
  }
  return number * factor;
}

// Beside the directory of the program, wherever that was started: build/bin/compare writes
// build/bench.json.
std::string DefaultJsonPath() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "bench.json" : (program.parent_path().parent_path() / "bench.json").string();
}

// CLI11 would take the next argument for the value of "--json=".
void CheckNoValueIsEmpty(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) == 0 && argument.back() == '=') {
      throw std::invalid_argument(argument + " needs a value; see --help");
    }
  }
}

Settings SettingsFor(bool quick, bool smoke) {
  Settings s;
  if (smoke) {
    s.rate_keys = s.size_keys = s.query_keys = s.length_keys = s.build_keys = s.memory_keys =
        s.isa_keys = {2'000};
    s.small_keys = {1, 200};
    s.cold_keys = {20'000};
    s.rate_bits = {10};
    s.equal_rates = {"1%"};
    s.probes = s.small_probes = {500, 0, 3e5, 3e5};
    s.query_rounds = s.cold_rounds = s.cold_batches_per_round = s.build_rounds = 2;
    s.queries_per_sample = KeyChunk::kKeys;
    return s;
  }
  s.rate_bits = {8, 10, 12, 16, 20, 24};
  s.length_keys = {20'000};
  s.memory_keys = s.isa_keys = {20'000, 1'000'000};
  s.cold_batches_per_round = 50;
  if (quick) {
    s.rate_keys = s.size_keys = {20'000};
    s.equal_rates = {"1%", "0.1%", "0.01%"};
    s.small_keys = {1, 100, 2'000, 20'000};
    s.query_keys = s.build_keys = {20'000, 1'000'000};
    s.cold_keys = {5'000'000};
    s.probes = {20'000, 100, 2e7, 3e8};
    s.small_probes = {1'000, 0, 2e6, 2e6};
    s.query_rounds = 15;
    s.queries_per_sample = 64 * KeyChunk::kKeys;
    s.cold_rounds = s.build_rounds = 7;
  } else {
    s.rate_keys = s.size_keys = {20'000, 1'000'000};
    s.equal_rates = {"1%", "0.3%", "0.1%", "0.01%"};
    s.small_keys = {1, 10, 100, 1'000, 2'000, 5'000, 20'000, 200'000, 2'000'000};
    s.query_keys = {20'000, 1'000'000, 20'000'000};
    s.cold_keys = {20'000'000};
    s.build_keys = {2'000, 20'000, 1'000'000, 10'000'000};
    s.probes = {100'000, 400, 1e8, 1e9};
    s.small_probes = {5'000, 200, 1e7, 2e7};
    s.query_rounds = 25;
    s.queries_per_sample = 128 * KeyChunk::kKeys;
    s.cold_rounds = 11;
    s.build_rounds = 9;
  }
  return s;
}

int Main(int argc, char** argv) {
  CheckNoValueIsEmpty(argc, argv);
  bool quick = false, smoke = false, large = false;
  int rounds = 0;
  std::string json = DefaultJsonPath();
  std::vector<std::string> tables, sizes, specs;
  CLI::App app;
  app.set_help_flag("--help");
  app.formatter_fn([](const CLI::App*, std::string, CLI::AppFormatMode) { return kHelp; });
  app.add_flag("--quick", quick);
  app.add_flag("--smoke", smoke);
  app.add_flag("--large", large);
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 1000));
  app.add_option("--only", tables)->delimiter(',');
  app.add_option("--sizes", sizes)->delimiter(',');
  app.add_option("--specs", specs)->delimiter(',');
  app.add_option("--json", json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    throw std::invalid_argument(error.what());
  }
  if (quick && smoke) throw std::invalid_argument("--quick or --smoke, not both");
  for (const std::string& table : tables) {
    if (std::none_of(std::begin(kMeasurements), std::end(kMeasurements),
                     [&](const auto& known) { return known.name == table; })) {
      throw std::invalid_argument("--only: there is no table \"" + table + "\"; see --help");
    }
  }
  Settings settings = SettingsFor(quick, smoke);
  std::string for_children = quick ? " --quick" : smoke ? " --smoke" : "";
  if (large) settings.small_keys.push_back(50'000'000);
  if (!sizes.empty()) {
    std::vector<uint64_t> counts;
    for (const std::string& size : sizes) counts.push_back(ParseCount(size));
    settings.rate_keys = settings.size_keys = settings.query_keys = settings.length_keys =
        settings.cold_keys = settings.build_keys = settings.memory_keys = settings.small_keys =
            settings.isa_keys = counts;
  }
  for (const std::string& spec : specs) {
    Candidate candidate;
    const std::string error = Candidate::Make(spec, &candidate);
    if (!error.empty()) throw std::invalid_argument("--specs: " + error);
    for_children += (settings.specs.empty() ? " --specs=" : ",") + spec;
    settings.specs.push_back(spec);
  }
  if (rounds > 0) {
    settings.query_rounds = settings.cold_rounds = settings.build_rounds = rounds;
    for_children += " --rounds=" + std::to_string(rounds);
  }
  const std::string unfit = WhyNotToMeasure();
  if (!unfit.empty()) {
    std::cerr << "compare: " << unfit << "\n";
    return 3;
  }

  Run run("compare", json);
  run.settings = settings;
  run.arguments_for_children = for_children;
  run.document["machine"] = DescribeMachine();
  std::cout << ForPeople(run.document["machine"]);
  for (const auto& [name, measure] : kMeasurements) {
    if (!Wants(tables, name)) continue;
    // Tables that choose their filters by their rates.
    const std::string table = name;
    if (!specs.empty() && (table == "sizes" || table == "targets")) continue;
    run.Add(measure(&run));
  }
  return run.Finish();
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("compare", rocksieve::bench::Main, argc, argv);
}
