// SPDX-License-Identifier: Apache-2.0
// `./run experiments`: what the literature has published, measured again.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "bench/experiments/experiment.h"
#include "lib/hash/key_hash.h"

namespace rocksieve::experiments {
namespace {

constexpr char kWordList[] = "/usr/share/dict/american-english-insane";
constexpr size_t kLongestBytes = 63;

struct Experiment {
  const char* name;   // for --only
  const char* about;  // a line for --help
  void (*measure)(Run* run);
};

// In the order in which they run.
const Experiment kExperiments[] = {
    {"quality", "are the probes of filters uniform and independent? A bad hash must not be",
     MeasureQuality},
    {"optimum", "the best number of probes, and of keys, on 97,661 keys", MeasureOptimum},
    {"growth", "a scalable Bloom filter for 1,000 times the keys that it was made for",
     MeasureGrowth},
#ifdef ROCKSIEVE_WITH_JOIN
    {"set_operations", "a difference by filters, and what it loses, beside the exact join",
     MeasureSetOperations},
#endif
};

// Letters of ASCII only; all other bytes stay.
std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

std::vector<std::string> InsaneWords() {
  std::ifstream file(kWordList);
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.size() <= kLongestBytes) words.push_back(LowerCase(line));
  }
  if (words.empty()) {
    throw std::runtime_error(std::string("cannot read ") + kWordList +
                             ": install wamerican-insane");
  }
  return words;
}

std::vector<std::string> ShuffledDistinctWords() {
  std::vector<std::string> words = InsaneWords();
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  // By a hash with another seed than any filter uses.
  constexpr uint64_t kSeed = 20'000'101;
  std::sort(words.begin(), words.end(), [](const std::string& a, const std::string& b) {
    return HashKey(a, kSeed) < HashKey(b, kSeed);
  });
  return words;
}

namespace {

int Main(int argc, char** argv) {
  Settings settings;
  settings.directory = "build/experiments";
  std::vector<std::string> only, names;
  std::string about = "Experiments that the literature has published, on real data:\n\n";
  for (const Experiment& experiment : kExperiments) {
    names.push_back(experiment.name);
    about += "  " + std::string(experiment.name) + std::string(18 - names.back().size(), ' ') +
             experiment.about + "\n";
  }
  about +=
      "\nExit codes: 0 done; 1 a result is not as it must be (the last lines say which);\n"
      "2 could not run, or bad usage\n";
  CLI::App app(about, "experiments");
  app.add_flag("--quick", settings.quick, "smaller inputs, fewer repeats: a minute");
  app.add_option("--only", only, "names of experiments, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  app.add_option("--directory", settings.directory,
                 "where pictures and experiments.json go [" + settings.directory + "]");
  app.footer("Example: ./run experiments --only=optimum");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::filesystem::create_directories(settings.directory);
  Run run(settings);
  for (const Experiment& experiment : kExperiments) {
    if (bench::Wants(only, experiment.name)) experiment.measure(&run);
  }
  return run.Finish();
}

}  // namespace
}  // namespace rocksieve::experiments

int main(int argc, char** argv) {
  return rocksieve::bench::RunProgram("experiments", rocksieve::experiments::Main, argc, argv);
}
