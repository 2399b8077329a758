// SPDX-License-Identifier: Apache-2.0
// soak: builds many filters of random sets, and counts what should never or hardly ever happen.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "bench/program.h"
#include "lib/filter/builder.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::bench {
namespace {

struct Counts {
  uint64_t keys = 0;
  uint64_t reseeded = 0;    // ribbon filters whose own hashes could not be solved
  uint64_t incomplete = 0;  // filters that match all of some keys, or all keys
  uint64_t lost = 0;        // filters that miss a key of theirs
};

// Of any amount that a spec can name, and from 1 to 30,000 keys, each order of magnitude alike: so
// mostly small sets, since their number is what counts.
void BuildOne(const std::string& family, std::mt19937_64* random, Counts* counts) {
  const double uniform = std::uniform_real_distribution<double>(0, 1)(*random);
  const auto keys = static_cast<uint64_t>(std::exp(uniform * std::log(30'000.0)));
  FilterSpec spec;
  const std::string text = "rocksieve." + family + ":" + std::to_string(3 + (*random)() % 30) +
                           ((*random)() % 8 == 0 ? ":thorough" : "");
  const std::string error = FilterSpec::Parse(text, &spec);
  if (!error.empty()) throw std::invalid_argument(error);
  BlockBuilder builder(spec);
  builder.KeepKeysForVerification();
  for (uint64_t i = 0; i < keys; i++) {
    char key[8];
    const uint64_t number = (*random)();
    std::memcpy(key, &number, sizeof(key));
    builder.AddKey({key, sizeof(key)});
  }
  const FilterBlock block = builder.Finish();
  const std::string lost = builder.Verify(block.view());
  if (!lost.empty()) {
    std::fprintf(stderr, "soak: %s of %llu keys: %s\n", text.c_str(),
                 static_cast<unsigned long long>(keys), lost.c_str());
  }
  const FilterBlockInfo info = OpenFilter(block.view()).info;
  counts->keys += keys;
  counts->lost += !lost.empty();
  counts->incomplete += block.saturated_fraction > 0;
  counts->reseeded += info.family == Family::kRibbon && ribbon::ReseedOf(info.parameter) != 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Builds many filters of random sets, and counts what should hardly ever happen.");
  std::string family = "ribbon";
  uint64_t builds = 100'000;
  uint64_t seed = std::random_device()();
  app.add_option("--family", family, "bloom, cuckoo or ribbon")->capture_default_str();
  app.add_option("--builds", builds, "number of filters")->capture_default_str();
  app.add_option("--seed", seed, "to repeat a run");
  CLI11_PARSE(app, argc, argv);
  std::printf("%s, seed %llu\n", family.c_str(), static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  Counts counts;
  {
    Progress progress("soak");
    progress.Begin("building", builds);
    for (uint64_t i = 0; i < builds; i++) {
      BuildOne(family, &random, &counts);
      progress.Advance();
    }
  }
  const auto number = [](uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf("%llu filters of %llu keys built: %llu reseeded, %llu incomplete, %llu lost a key\n",
              number(builds), number(counts.keys), number(counts.reseeded),
              number(counts.incomplete), number(counts.lost));
  return counts.lost == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  return rocksieve::bench::RunProgram("soak", rocksieve::bench::Main, argc, argv);
}
