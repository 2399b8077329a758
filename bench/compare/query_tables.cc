// The tables of query times, filters in the caches.
#include "bench/compare/query_times.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

std::vector<Column> TimeColumns() {
  return {{"filter", "", "filter", Kind::kText},
          {"missing_ns_min", "missing", "min", Kind::kFixed, 1},
          {"missing_ns_median", "", "median", Kind::kFixed, 1},
          {"missing_over_reference", "", "ratio"},
          {"present_ns_min", "present", "min", Kind::kFixed, 1},
          {"present_ns_median", "", "median", Kind::kFixed, 1},
          {"present_over_reference", "", "ratio"},
          {"batch_ns_min", "batched", "min", Kind::kFixed, 1},
          {"batch_ns_median", "", "median", Kind::kFixed, 1},
          {"batch_over_reference", "", "ratio"},
          {"spread_percent", "spread", "%", Kind::kFixed, 0}};
}

// The time to hash is in all others; it depends on the keys only.
std::vector<Candidates> WithHashOnly(const Settings& settings) {
  std::vector<Candidates> series = TimedSeries(settings);
  if (settings.specs.empty()) series.push_back(MakeCandidates({"hash-only"}));
  return series;
}

}  // namespace

Table MeasureQueries(Run* run) {
  Table table = {
      .name = "queries",
      .title = "QUERIES, FILTERS IN THE CACHES AS FAR AS THEY FIT",
      .explanation =
          "CPU nanoseconds per key of 16 bytes, hashing included, over the rounds: one key after "
          "the "
          "other, missing and present, and batches of 32 missing keys. Ratio: of the least times, "
          "over "
          "the first filter of the group. Spread: distance of the quartiles over the median, the "
          "worst of the three. hash-only: the call and the hash of the key, without a filter.",
      .columns = TimeColumns(),
  };
  for (uint64_t keys : run->settings.query_keys) {
    nlohmann::json rows = TimeQueries(WithHashOnly(run->settings), KeySet(keys, 1), run);
    for (nlohmann::json& row : rows) {
      row["group"] = KeysHeading(keys);
      table.rows.push_back(row);
    }
  }
  return table;
}

Table MeasureLengths(Run* run) {
  Table table = {
      .name = "lengths",
      .title = "QUERIES BY THE LENGTH OF THE KEYS",
      .explanation = "As above. The keys lie at all alignments, here and above.",
      .columns = TimeColumns(),
  };
  const std::vector<Candidates> series =
      run->settings.specs.empty()
          ? std::vector<Candidates>{MakeCandidates({"bloomfilter:10", "rocksieve.bloom:10",
                                                    "rocksieve.cuckoo:10", "rocksieve.ribbon:10",
                                                    "hash-only"})}
          : TimedSeries(run->settings);
  for (uint64_t keys : run->settings.length_keys) {
    for (size_t bytes : {8, 16, 24, 32, 64, 128}) {
      nlohmann::json rows = TimeQueries(series, KeySet(keys, 1, bytes), run);
      for (nlohmann::json& row : rows) {
        row["group"] = KeysHeading(keys) + " of " + std::to_string(bytes) + " bytes";
        row["key_bytes"] = bytes;
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

}  // namespace rocksieve::bench
