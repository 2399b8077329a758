// SPDX-License-Identifier: Apache-2.0
// soak: builds many filters of random sets, and counts what should never or hardly ever happen.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "lib/filter/builder.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::bench {
namespace {

struct Counts {
  uint64_t builds = 0, keys = 0;
  uint64_t reseeded = 0;    // ribbon filters whose own hashes could not be solved
  uint64_t incomplete = 0;  // filters that match all of some keys, or all keys
  uint64_t lost = 0;        // filters that miss a key of theirs
};

// Any family and amount that a spec can name, mostly small sets: their number is what counts.
class Soak {
 public:
  Soak(std::string family, uint64_t seed) : family_(std::move(family)), random_(seed) {}

  void BuildOne(Counts* counts) {
    const uint64_t keys = RandomSize();
    FilterSpec spec;
    const std::string text = "rocksieve." + family_ + ":" + std::to_string(RandomBits()) +
                             (random_() % 8 == 0 ? ":thorough" : "");
    const std::string error = FilterSpec::Parse(text, &spec);
    if (!error.empty()) throw std::invalid_argument(error);
    BlockBuilder builder(spec);
    builder.KeepKeysForVerification();
    for (uint64_t i = 0; i < keys; i++) {
      char key[8];
      const uint64_t number = random_();
      std::memcpy(key, &number, sizeof(key));
      builder.AddKey({key, sizeof(key)});
    }
    const FilterBlock block = builder.Finish();
    const std::string lost = builder.Verify(block.view());
    if (!lost.empty()) {
      std::fprintf(stderr, "soak: %s of %lu keys: %s\n", text.c_str(),
                   static_cast<unsigned long>(keys), lost.c_str());
    }
    const FilterBlockInfo info = OpenFilter(block.view()).info;
    counts->builds++;
    counts->keys += keys;
    counts->lost += !lost.empty();
    counts->incomplete += block.saturated_fraction > 0;
    counts->reseeded += info.family == Family::kRibbon && ribbon::ReseedOf(info.parameter) != 0;
  }

 private:
  double Uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  // From 1 to 30,000, each order of magnitude alike.
  uint64_t RandomSize() { return static_cast<uint64_t>(std::exp(Uniform() * std::log(30'000.0))); }
  uint64_t RandomBits() { return 3 + random_() % 30; }

  const std::string family_;
  std::mt19937_64 random_;
};

int Run(const std::string& family, uint64_t builds, uint64_t seed) {
  std::printf("%s, seed %lu\n", family.c_str(), static_cast<unsigned long>(seed));
  Soak soak(family, seed);
  Counts counts;
  auto last_report = std::chrono::steady_clock::now();
  while (counts.builds < builds) {
    soak.BuildOne(&counts);
    const auto now = std::chrono::steady_clock::now();
    if (isatty(2) && now - last_report > std::chrono::seconds(1)) {
      std::fprintf(stderr, "\r\033[K%lu of %lu builds", static_cast<unsigned long>(counts.builds),
                   static_cast<unsigned long>(builds));
      last_report = now;
    }
  }
  if (isatty(2)) std::fprintf(stderr, "\r\033[K");
  std::printf("%lu filters of %lu keys built: %lu reseeded, %lu incomplete, %lu lost a key\n",
              static_cast<unsigned long>(counts.builds), static_cast<unsigned long>(counts.keys),
              static_cast<unsigned long>(counts.reseeded),
              static_cast<unsigned long>(counts.incomplete),
              static_cast<unsigned long>(counts.lost));
  return counts.lost == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  CLI::App app("Builds many filters of random sets, and counts what should hardly ever happen.");
  std::string family = "ribbon";
  uint64_t builds = 100'000;
  uint64_t seed = std::random_device()();
  app.add_option("--family", family, "bloom, cuckoo or ribbon")->capture_default_str();
  app.add_option("--builds", builds, "number of filters")->capture_default_str();
  app.add_option("--seed", seed, "to repeat a run");
  CLI11_PARSE(app, argc, argv);
  return rocksieve::bench::Run(family, builds, seed);
}
