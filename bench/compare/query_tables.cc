// SPDX-License-Identifier: Apache-2.0
// The tables of query times: filters in the caches, asked in turns.
#include <algorithm>
#include <array>

#include "bench/compare/clock.h"
#include "bench/compare/machine.h"
#include "bench/compare/tables.h"

namespace rocksieve::bench {
namespace {

struct TimedFilter {
  const Candidate* candidate;
  size_t reference;  // index of the first filter of its line-up
  BuiltFilter filter;
  std::vector<double> missing, present, batch, present_batch;
  bool lost_a_key = false;
};

// Nanoseconds per query. The keys are made outside of the time, a chunk at a time, and no key is
// asked twice, so that no branch predictor can learn the answers.
class QueryTimer {
 public:
  QueryTimer(const KeySet& keys, uint64_t queries)
      : chunk_(keys), chunks_(queries / chunk_.kKeys) {}

  // Brings back to the caches, as far as it fits, what other filters have pushed out since the last
  // turn: the block, and then what the processor remembers of its pages and of the code.
  void WarmUp(const BuiltFilter& filter) {
    constexpr size_t kLine = 64;
    const volatile char* bytes = filter.block.data();
    for (size_t i = 0; i < filter.block.size(); i += kLine) static_cast<void>(bytes[i]);
    uint64_t ignored = 0;
    Single(filter, KeyKind::kMissing, &ignored);
  }

  double Single(const BuiltFilter& filter, KeyKind kind, uint64_t* hits) {
    for (uint64_t i = 0; i < chunks_; i++) {
      Ask(filter, kind, hits);
    }
    return PerQuery();
  }

  double Batches(const BuiltFilter& filter, KeyKind kind, uint64_t* hits) {
    std::array<bool, kBatch> may_match;
    for (uint64_t i = 0; i < chunks_; i++) {
      chunk_.FillAtRandom(kind, next_chunk_++);
      watch_.Start();
      for (size_t k = 0; k < chunk_.size(); k += kBatch) {
        filter.reader->MayMatch(kBatch, chunk_.Pointers() + k, may_match.data());
        *hits += may_match[0];
      }
      watch_.Stop();
    }
    return PerQuery();
  }

  uint64_t queries() const { return chunks_ * chunk_.kKeys; }

 private:
  void Ask(const BuiltFilter& filter, KeyKind kind, uint64_t* hits) {
    chunk_.FillAtRandom(kind, next_chunk_++);
    watch_.Start();
    for (size_t k = 0; k < chunk_.size(); k++) *hits += filter.reader->MayMatch(chunk_[k]);
    watch_.Stop();
  }

  double PerQuery() { return watch_.TakeNanoseconds() / static_cast<double>(queries()); }

  KeyChunk chunk_;
  const uint64_t chunks_;
  uint64_t next_chunk_ = 1;
  Stopwatch<CpuClock> watch_;
};

std::vector<TimedFilter> BuildAll(const std::vector<Candidates>& series, const KeySet& keys) {
  std::vector<TimedFilter> filters;
  for (const Candidates& candidates : series) {
    const size_t reference = filters.size();
    for (const Candidate& candidate : candidates) {
      filters.push_back({&candidate, reference, candidate.Build(keys), {}, {}, {}, {}});
    }
  }
  return filters;
}

// The kinds of queries change places from round to round: the first one after another filter's turn
// may still be at a disadvantage.
void TimeRound(int round, QueryTimer* timer, TimedFilter* timed) {
  constexpr int kKinds = 4;
  timer->WarmUp(timed->filter);
  for (int i = 0; i < kKinds; i++) {
    uint64_t hits = 0;
    switch ((round + i) % kKinds) {
      case 0:
        timed->missing.push_back(timer->Single(timed->filter, KeyKind::kMissing, &hits));
        break;
      case 1:
        timed->present.push_back(timer->Single(timed->filter, KeyKind::kPresent, &hits));
        timed->lost_a_key |= hits != timer->queries();
        break;
      case 2:
        timed->batch.push_back(timer->Batches(timed->filter, KeyKind::kMissing, &hits));
        break;
      case 3:
        timed->present_batch.push_back(timer->Batches(timed->filter, KeyKind::kPresent, &hits));
        break;
    }
  }
}

double LeastOverLeast(const std::vector<double>& samples, const std::vector<double>& others) {
  return Summarize(samples).min / Summarize(others).min;
}

void AddTimesAndRatio(const std::string& name, const std::vector<double>& samples,
                      const std::vector<double>& reference, nlohmann::json* row) {
  AddTimes(name, samples, row);
  (*row)[name + "_over_reference"] = LeastOverLeast(samples, reference);
  (*row)["spread_percent"] =
      std::max(row->value("spread_percent", 0.0), (*row)[name + "_spread_percent"].get<double>());
}

// Rows: filter, keys, part (the line-up's first filter), and for NAME = missing, present, batch
// (of kBatch missing keys), present_batch: NAME_ns_min, NAME_ns_median, NAME_spread_percent,
// NAME_over_reference (ratio of the least times); spread_percent, the largest of the four;
// KIND_batch_over_single (of the least times) for KIND = missing, present; isa.
// Every line-up is related to its first filter. A key that a filter has lost is added to the
// failures.
nlohmann::json TimeQueries(const std::vector<Candidates>& series, const KeySet& keys, Run* run) {
  run->progress.Begin("queries: building filters of " + KeysHeading(keys.count()));
  std::vector<TimedFilter> filters = BuildAll(series, keys);
  QueryTimer timer(keys, run->settings.queries_per_sample);
  for (int round = 0; round < run->settings.query_rounds; round++) {
    run->progress.Begin("queries: " + KeysHeading(keys.count()) + ", round " +
                        std::to_string(round + 1));
    for (TimedFilter& timed : filters) TimeRound(round, &timer, &timed);
  }

  nlohmann::json rows = nlohmann::json::array();
  for (const TimedFilter& timed : filters) {
    const TimedFilter& reference = filters[timed.reference];
    nlohmann::json row = {{"filter", timed.candidate->spec()},
                          {"keys", keys.count()},
                          {"part", reference.candidate->spec()},
                          {"isa", ActiveIsaName()}};
    AddTimesAndRatio("missing", timed.missing, reference.missing, &row);
    AddTimesAndRatio("present", timed.present, reference.present, &row);
    AddTimesAndRatio("batch", timed.batch, reference.batch, &row);
    AddTimesAndRatio("present_batch", timed.present_batch, reference.present_batch, &row);
    row["missing_batch_over_single"] = LeastOverLeast(timed.batch, timed.missing);
    row["present_batch_over_single"] = LeastOverLeast(timed.present_batch, timed.present);
    rows.push_back(row);
    if (timed.lost_a_key) {
      run->failures.push_back(timed.candidate->spec() + ", " + KeysHeading(keys.count()) +
                              ": a present key was not found");
    }
  }
  return rows;
}

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
          {"missing_batch_over_single", "batch/single", "missing"},
          {"present_batch_over_single", "", "present"},
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
          "over the first filter of the group. Batch/single: a key's least time in batches over "
          "that "
          "of one key after the other, missing and present. Spread: distance of the quartiles over "
          "the median, the worst of all four. hash-only: the call and the hash of the key, without "
          "a "
          "filter.",
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
