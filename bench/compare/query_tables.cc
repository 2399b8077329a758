// SPDX-License-Identifier: Apache-2.0
// The tables of query times: filters in the caches, asked in turns; and batches against single
// queries when the filter is not in the caches of the core.
#include <algorithm>
#include <array>
#include <map>

#include "bench/compare/tables.h"
#include "bench/machine.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

struct TimedFilter {
  const Candidate* candidate;
  size_t reference;  // index of the first filter of its line-up
  BuiltFilter filter;
  BuiltFilter twin = {};  // of the same kind, but tiny
  std::map<std::string, std::vector<double>> samples = {};
  bool lost_a_key = false;
};

std::vector<TimedFilter> BuildAll(const std::vector<Candidates>& series, const KeySet& keys) {
  std::vector<TimedFilter> filters;
  for (const Candidates& candidates : series) {
    const size_t reference = filters.size();
    for (const Candidate& candidate : candidates) {
      filters.push_back({&candidate, reference, candidate.Build(keys)});
    }
  }
  return filters;
}

// A row: what filter it is, and the times of all its samples, in relation to its reference.
nlohmann::json RowOf(const TimedFilter& timed, const TimedFilter& reference, uint64_t keys) {
  nlohmann::json row = {{"filter", timed.candidate->spec()},
                        {"keys", keys},
                        {"group", Counted(keys, "key")},
                        {"isa", ActiveIsaName()}};
  double spread = 0;
  for (const auto& [name, samples] : timed.samples) {
    AddTimes(name, samples, &row, &reference.samples.at(name));
    spread = std::max(spread, row[name + "_spread_percent"].get<double>());
  }
  row["spread_percent"] = spread;
  return row;
}

// What is asked: the keys of a chunk, one after the other or in batches.
struct Query {
  const char* name;
  KeyKind kind;
  bool in_batches;
};

constexpr Query kQueries[] = {{"missing", KeyKind::kMissing, false},
                              {"present", KeyKind::kPresent, false},
                              {"batch", KeyKind::kMissing, true},
                              {"present_batch", KeyKind::kPresent, true}};

// How many answers were "may match"; of batches, how many of the first ones.
uint64_t AskChunk(const BuiltFilter& filter, bool in_batches, KeyChunk* keys) {
  uint64_t hits = 0;
  if (in_batches) {
    std::array<bool, kBatch> may_match;
    for (size_t k = 0; k < keys->size(); k += kBatch) {
      filter.reader->MayMatch(kBatch, keys->Pointers() + k, may_match.data());
      hits += may_match[0];
    }
  } else {
    for (size_t k = 0; k < keys->size(); k++) hits += filter.reader->MayMatch((*keys)[k]);
  }
  return hits;
}

// Nanoseconds per query. The keys are made outside of the time, a chunk at a time, and no key is
// asked twice, so that no branch predictor can learn the answers.
class QueryTimer {
 public:
  QueryTimer(const KeySet& keys, uint64_t queries)
      : chunk_(keys), chunks_(queries / chunk_.kKeys) {}

  // Brings back to the caches, as far as it fits, what other filters have pushed out since the last
  // turn: the block, and then what the processor remembers of its pages and of the code. The kinds
  // of queries change places from round to round: the first one after another filter's turn may
  // still be at a disadvantage.
  void TimeRound(size_t round, TimedFilter* timed) {
    constexpr size_t kLine = 64;
    const rocksdb::Slice block = timed->filter.block;
    const volatile char* bytes = block.data();
    for (size_t i = 0; i < block.size(); i += kLine) static_cast<void>(bytes[i]);
    uint64_t hits = 0;
    Time(timed->filter, kQueries[0], &hits);
    for (size_t i = 0; i < std::size(kQueries); i++) {
      const Query& query = kQueries[(round + i) % std::size(kQueries)];
      hits = 0;
      timed->samples[query.name].push_back(Time(timed->filter, query, &hits));
      if (query.kind == KeyKind::kPresent) {
        const uint64_t asked = chunks_ * chunk_.kKeys;
        timed->lost_a_key |= hits != (query.in_batches ? asked / kBatch : asked);
      }
    }
  }

 private:
  double Time(const BuiltFilter& filter, const Query& query, uint64_t* hits) {
    for (uint64_t i = 0; i < chunks_; i++) {
      chunk_.FillAtRandom(query.kind, next_chunk_++);
      watch_.Start();
      *hits += AskChunk(filter, query.in_batches, &chunk_);
      watch_.Stop();
    }
    return watch_.TakeNanoseconds() / static_cast<double>(chunks_ * chunk_.kKeys);
  }

  KeyChunk chunk_;
  const uint64_t chunks_;
  uint64_t next_chunk_ = 1;
  Stopwatch<CpuClock> watch_;
};

// Rows: those of RowOf() for each of kQueries, part (the line-up's first filter), and
// KIND_batch_over_single (of the least times) for KIND = missing, present. A key that a filter has
// lost is a failure.
nlohmann::json TimeQueries(const std::vector<Candidates>& series, const KeySet& keys, Run* run) {
  const std::string heading = Counted(keys.count(), "key");
  run->Begin("queries: building filters of " + heading);
  std::vector<TimedFilter> filters = BuildAll(series, keys);
  QueryTimer timer(keys, run->settings.queries_per_sample);
  for (int round = 0; round < run->settings.query_rounds; round++) {
    run->Begin("queries: " + heading + ", round " + std::to_string(round + 1));
    for (TimedFilter& timed : filters) timer.TimeRound(static_cast<size_t>(round), &timed);
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const TimedFilter& timed : filters) {
    const TimedFilter& reference = filters[timed.reference];
    nlohmann::json row = RowOf(timed, reference, keys.count());
    row["part"] = reference.candidate->spec();
    const auto least = [&](const char* name) { return LeastOf(timed.samples.at(name)); };
    row["missing_batch_over_single"] = least("batch") / least("missing");
    row["present_batch_over_single"] = least("present_batch") / least("present");
    rows.push_back(row);
    if (timed.lost_a_key) {
      run->Fail(timed.candidate->spec() + ", " + heading + ": a present key was not found");
    }
  }
  return rows;
}

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

volatile bool sink;  // so that no answer is thrown away unseen

// Batches of kBatch keys, one at a time.
class ColdTimer {
 public:
  ColdTimer(const KeySet& keys, const KeySet& twin_keys)
      : buffer_(BytesLargerThanPrivateCaches(), 1), chunk_(keys), twin_chunk_(twin_keys) {}

  void TimeRound(int batches, TimedFilter* timed) {
    for (const auto& [name, kind] : {std::pair<std::string, KeyKind>{"present", KeyKind::kPresent},
                                     {"missing", KeyKind::kMissing}}) {
      std::vector<double> single, batch;
      for (int i = 0; i < batches; i++) {
        single.push_back(OneBatch(*timed, kind, /*in_batches=*/false));
        batch.push_back(OneBatch(*timed, kind, /*in_batches=*/true));
      }
      timed->samples[name + "_single"].push_back(MedianOf(single));
      timed->samples[name + "_batch"].push_back(MedianOf(batch));
    }
  }

 private:
  // Nanoseconds per key. The twin is asked just before the time is taken, so that what is measured
  // is a filter that has left the caches, not code that has.
  double OneBatch(const TimedFilter& timed, KeyKind kind, bool in_batches) {
    constexpr size_t kLine = 64;
    volatile unsigned char* bytes = buffer_.data();  // nobody reads them again
    for (size_t i = 0; i < buffer_.size(); i += kLine) bytes[i] = bytes[i] + 1;
    chunk_.FillAtRandom(kind, next_++, kBatch);
    twin_chunk_.FillAtRandom(kind, next_, kBatch);
    sink = AskChunk(timed.twin, in_batches, &twin_chunk_) != 0;
    watch_.Start();
    sink = AskChunk(timed.filter, in_batches, &chunk_) != 0;
    watch_.Stop();
    return watch_.TakeNanoseconds() / kBatch;
  }

  std::vector<unsigned char> buffer_;
  KeyChunk chunk_, twin_chunk_;
  uint64_t next_ = 1;
  Stopwatch<WallClock> watch_;
};

}  // namespace

Table MeasureQueries(Run* run) {
  Table table = {
      .name = "queries",
      .title = "QUERIES, FILTERS IN THE CACHES AS FAR AS THEY FIT",
      .explanation =
          "CPU nanoseconds per key of 16 bytes, hashing included, over the rounds: one key after "
          "the other, missing and present, and batches of 32 missing keys. Ratio: of the least "
          "times, over the first filter of the group. Batch/single: a key's least time in batches "
          "over that of one key after the other, missing and present. Spread: distance of the "
          "quartiles over the median, the worst of all four. hash-only: the call and the hash of "
          "the key, without a filter.",
      .columns = TimeColumns(),
  };
  std::vector<Candidates> series = TimedSeries(run->settings);
  // The time to hash is in all others; it depends on the keys only.
  if (run->settings.specs.empty()) series.push_back(MakeCandidates({"hash-only"}));
  for (uint64_t keys : run->settings.query_keys) {
    for (const nlohmann::json& row : TimeQueries(series, KeySet(keys, 1), run)) {
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
      for (nlohmann::json row : TimeQueries(series, KeySet(keys, 1, bytes), run)) {
        row["group"] = Counted(keys, "key") + " of " + std::to_string(bytes) + " bytes";
        row["key_bytes"] = bytes;
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

Table MeasureCold(Run* run) {
  Table table = {
      .name = "cold",
      .title = "BATCHES AGAINST SINGLE QUERIES, FILTERS OUT OF THE PRIVATE CACHES",
      .explanation =
          "Nanoseconds per key: 32 keys asked one by one, or in one call as MultiGet does. Before "
          "each 32, a buffer larger than the caches of the core is written. Least and median of "
          "the rounds; a round is the median of its batches, by wall clock. Ratio: batch over "
          "single, of the medians.",
      .columns = {{"filter", "", "filter", Kind::kText},
                  {"missing_single_ns_min", "missing", "single", Kind::kFixed, 1},
                  {"missing_single_ns_median", "", "median", Kind::kFixed, 1},
                  {"missing_batch_ns_min", "", "batch", Kind::kFixed, 1},
                  {"missing_batch_ns_median", "", "median", Kind::kFixed, 1},
                  {"missing_batch_over_single", "", "ratio"},
                  {"present_single_ns_min", "present", "single", Kind::kFixed, 1},
                  {"present_single_ns_median", "", "median", Kind::kFixed, 1},
                  {"present_batch_ns_min", "", "batch", Kind::kFixed, 1},
                  {"present_batch_ns_median", "", "median", Kind::kFixed, 1},
                  {"present_batch_over_single", "", "ratio"}},
  };
  const KeySet twin_keys(1'000, 2);
  const std::vector<Candidates> series = TimedSeries(run->settings);
  for (uint64_t count : run->settings.cold_keys) {
    const KeySet keys(count, 1);
    run->Begin("cold: building filters of " + Counted(count, "key"));
    std::vector<TimedFilter> filters = BuildAll(series, keys);
    for (TimedFilter& timed : filters) timed.twin = timed.candidate->Build(twin_keys);
    ColdTimer timer(keys, twin_keys);
    for (int round = 0; round < run->settings.cold_rounds; round++) {
      run->Begin("cold: round " + std::to_string(round + 1));
      for (TimedFilter& timed : filters) {
        timer.TimeRound(run->settings.cold_batches_per_round, &timed);
      }
    }
    for (const TimedFilter& timed : filters) {
      nlohmann::json row = RowOf(timed, timed, count);
      for (const std::string kind : {"present", "missing"}) {
        row[kind + "_batch_over_single"] = MedianOf(timed.samples.at(kind + "_batch")) /
                                           MedianOf(timed.samples.at(kind + "_single"));
      }
      table.rows.push_back(row);
    }
  }
  return table;
}

}  // namespace rocksieve::bench
