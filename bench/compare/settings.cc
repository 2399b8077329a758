// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <stdexcept>

namespace rocksieve::bench {

const std::vector<std::string>& TableNames() {
  static const std::vector<std::string> names = {"rates", "sizes",  "small",  "queries", "lengths",
                                                 "cold",  "builds", "memory", "isas",    "targets"};
  return names;
}

bool Settings::Wants(const std::string& table) const {
  return std::find(tables.begin(), tables.end(), table) != tables.end();
}

Settings SettingsFor(Effort effort) {
  Settings s;
  s.tables = TableNames();
  switch (effort) {
    case Effort::kFull:
      s.rate_keys = s.size_keys = {20'000, 1'000'000};
      s.rate_bits = {8, 10, 12, 16, 20, 24};
      s.equal_rates = {"1%", "0.3%", "0.1%", "0.01%"};
      s.small_keys = {1, 10, 100, 1'000, 2'000, 5'000, 20'000, 200'000, 2'000'000};
      s.query_keys = {20'000, 1'000'000, 20'000'000};
      s.length_keys = {20'000};
      s.cold_keys = {20'000'000};
      s.build_keys = {2'000, 20'000, 1'000'000, 10'000'000};
      s.memory_keys = {20'000, 1'000'000};
      s.isa_keys = {20'000, 1'000'000};
      s.probes = {100'000, 400, 1e8, 1e9};
      s.small_probes = {5'000, 200, 1e7, 2e7};
      s.query_rounds = 25;
      s.queries_per_sample = 128 * KeyChunk::kKeys;
      s.cold_rounds = 11;
      s.cold_batches_per_round = 50;
      s.build_rounds = 9;
      break;
    case Effort::kQuick:
      s.rate_keys = s.size_keys = {20'000};
      s.rate_bits = {8, 10, 12, 16, 20, 24};
      s.equal_rates = {"1%", "0.1%", "0.01%"};
      s.small_keys = {1, 100, 2'000, 20'000};
      s.query_keys = {20'000, 1'000'000};
      s.length_keys = {20'000};
      s.cold_keys = {5'000'000};
      s.build_keys = {20'000, 1'000'000};
      s.memory_keys = {20'000, 1'000'000};
      s.isa_keys = {20'000, 1'000'000};
      s.probes = {20'000, 100, 2e7, 3e8};
      s.small_probes = {1'000, 0, 2e6, 2e6};
      s.query_rounds = 15;
      s.queries_per_sample = 64 * KeyChunk::kKeys;
      s.cold_rounds = 7;
      s.cold_batches_per_round = 50;
      s.build_rounds = 7;
      break;
    case Effort::kSmoke:
      s.rate_keys = s.size_keys = s.query_keys = s.length_keys = s.build_keys = s.memory_keys =
          s.isa_keys = {2'000};
      s.small_keys = {1, 200};
      s.cold_keys = {20'000};
      s.rate_bits = {10};
      s.equal_rates = {"1%"};
      s.probes = s.small_probes = {500, 0, 3e5, 3e5};
      s.query_rounds = 2;
      s.queries_per_sample = KeyChunk::kKeys;
      s.cold_rounds = 2;
      s.cold_batches_per_round = 2;
      s.build_rounds = 2;
      break;
  }
  return s;
}

void UseKeyCounts(const std::vector<uint64_t>& counts, Settings* s) {
  s->rate_keys = s->size_keys = s->query_keys = s->length_keys = s->cold_keys = s->build_keys =
      s->memory_keys = s->small_keys = s->isa_keys = counts;
}

std::vector<Candidates> TimedSeries(const Settings& settings) {
  if (!settings.specs.empty()) return {MakeCandidates(settings.specs)};
  return {MakeCandidates({"bloomfilter:10", "rocksieve.bloom:10"}),
          MakeCandidates({"bloomfilter:16", "rocksieve.bloom:16"}),
          MakeCandidates({"ribbonfilter:0.1%", "rocksieve.ribbon:0.1%", "rocksieve.cuckoo:0.1%",
                          "rocksieve.bloom:0.1%", "bloomfilter:0.1%"}),
          MakeCandidates({"ribbonfilter:1%", "rocksieve.ribbon:1%"})};
}

std::vector<Candidates> BuiltSeries(const Settings& settings) {
  if (!settings.specs.empty()) return TimedSeries(settings);
  return {MakeCandidates({"bloomfilter:10", "rocksieve.bloom:10", "rocksieve.bloom:10:thorough"}),
          MakeCandidates({"bloomfilter:16", "rocksieve.bloom:16", "rocksieve.bloom:16:thorough"}),
          MakeCandidates({"ribbonfilter:0.1%", "rocksieve.ribbon:0.1%",
                          "rocksieve.ribbon:0.1%:thorough", "rocksieve.cuckoo:0.1%",
                          "rocksieve.cuckoo:0.1%:thorough", "rocksieve.bloom:0.1%",
                          "bloomfilter:0.1%"})};
}

Candidates MakeCandidates(const std::vector<std::string>& specs) {
  Candidates candidates(specs.size());
  for (size_t i = 0; i < specs.size(); i++) {
    const std::string error = Candidate::Make(specs[i], &candidates[i]);
    if (!error.empty()) throw std::invalid_argument(error);
  }
  return candidates;
}

namespace {

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

void CheckTables(const std::vector<std::string>& tables) {
  for (const std::string& table : tables) {
    const auto& known = TableNames();
    if (std::find(known.begin(), known.end(), table) == known.end()) {
      throw std::invalid_argument("--only: there is no table \"" + table + "\"; see --help");
    }
  }
}

}  // namespace

Asked ReadFlags(int argc, char** argv, Flags* flags) {
  CheckNoValueIsEmpty(argc, argv);
  bool quick = false, smoke = false, large = false;
  int rounds = 0;
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
  app.add_option("--json", flags->json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    return Asked::kNothing;
  } catch (const CLI::ParseError& error) {
    throw std::invalid_argument(error.what());
  }

  if (quick && smoke) throw std::invalid_argument("--quick or --smoke, not both");
  Settings& settings = flags->settings;
  settings = SettingsFor(smoke ? Effort::kSmoke : quick ? Effort::kQuick : Effort::kFull);
  if (quick) flags->arguments_for_children.push_back("--quick");
  if (smoke) flags->arguments_for_children.push_back("--smoke");
  if (large) settings.small_keys.push_back(50'000'000);
  if (!tables.empty()) {
    CheckTables(tables);
    settings.tables = tables;
  }
  if (!sizes.empty()) {
    std::vector<uint64_t> counts;
    for (const std::string& size : sizes) counts.push_back(ParseCount(size));
    UseKeyCounts(counts, &settings);
  }
  if (!specs.empty()) {
    std::string joined = "--specs=";
    for (const std::string& spec : specs) {
      Candidate candidate;
      const std::string error = Candidate::Make(spec, &candidate);
      if (!error.empty()) throw std::invalid_argument("--specs: " + error);
      joined += (joined.back() == '=' ? "" : ",") + spec;
    }
    settings.specs = specs;
    flags->arguments_for_children.push_back(joined);
    std::erase(settings.tables, "sizes");  // it chooses its filters by their rates
  }
  if (rounds > 0) {
    settings.query_rounds = settings.cold_rounds = settings.build_rounds = rounds;
    flags->arguments_for_children.push_back("--rounds=" + std::to_string(rounds));
  }
  if (flags->json.empty()) flags->json = DefaultJsonPath();
  return Asked::kRun;
}

}  // namespace rocksieve::bench
