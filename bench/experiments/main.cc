// SPDX-License-Identifier: Apache-2.0
// `./run experiments`: what the literature has published, measured again.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>

#include <CLI/CLI.hpp>

#include "bench/experiments/frame/experiment.h"
#include "support/progress.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

// In the order in which they run.
const Experiment kExperiments[] = {
    {"hyphenation", "exceptions of hyphenation patterns in a filter (Knuth and Liang)",
     MeasureHyphenation},
    {"quality", "are the probes of filters uniform and independent? A bad hash must not be",
     MeasureQuality},
    {"optimum", "the best number of probes, and of keys, on 97,661 keys", MeasureOptimum},
    {"growth", "a scalable Bloom filter for 1,000 times the keys that it was made for",
     MeasureGrowth},
    {"near_duplicates", "similar pairs of packages by MinHash and LSH", MeasureNearDuplicates},
#ifdef ROCKSIEVE_WITH_JOIN
    {"set_operations", "a difference by filters, and what it loses, beside the exact join",
     MeasureSetOperations},
#endif
};

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

int RunAll(const Settings& settings, const std::vector<std::string>& only) {
  Progress progress("experiments");
  Run run;
  run.settings = settings;
  nlohmann::json report = {{"quick", settings.quick},
                           {"processor", ProcessorName()},
                           {"cores", std::thread::hardware_concurrency()}};
  const std::string json = settings.directory + "/experiments.json";
  const Clock::time_point start = Clock::now();
  for (const Experiment& experiment : kExperiments) {
    if (!only.empty() && std::find(only.begin(), only.end(), experiment.name) == only.end()) {
      continue;
    }
    run.progress = [&](const std::string& step) {
      progress.Begin(std::string(experiment.name) + ": " + step);
    };
    const Clock::time_point its_start = Clock::now();
    const Outcome outcome = experiment.measure(&run);
    progress.Clear();
    nlohmann::json& its_report = report["experiments"][experiment.name];
    its_report["seconds"] = SecondsSince(its_start);
    for (const Table& table : outcome.tables) {
      std::cout << ForPeople(table) << std::endl;
      its_report["tables"][table.name] = table.rows;
    }
    for (const Picture& picture : outcome.pictures) {
      Write(settings.directory + "/" + picture.name + ".svg", picture.svg);
    }
    // Again after each experiment, so that no measurement is lost.
    report["failures"] = run.failures;
    Write(json, report.dump(1) + "\n");
  }
  std::cout << "Took " << Significant(SecondsSince(start), 3)
            << " s. All figures: " << ShortPath(json) << ", pictures beside it.\n";
  for (const std::string& failure : run.failures) std::cout << "FAILED: " << failure << "\n";
  return run.failures.empty() ? 0 : 1;
}

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
  app.add_option("--published", settings.npm_directory,
                 "run the packages of the published hyphenation run too: the directory in which\n"
                 "npm has installed them (./run experiments --published installs them itself)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--directory", settings.directory,
                 "where pictures and experiments.json go [" + settings.directory + "]");
  app.footer("Example: ./run experiments --only=hyphenation --published");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::filesystem::create_directories(settings.directory);
  return RunAll(settings, only);
}

}  // namespace
}  // namespace rocksieve::experiments

int main(int argc, char** argv) {
  try {
    return rocksieve::experiments::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "experiments: " << error.what() << "\n";
    return 2;
  }
}
