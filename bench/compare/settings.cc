#include "bench/compare/settings.h"

#include <algorithm>
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

}  // namespace rocksieve::bench
