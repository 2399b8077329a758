// SPDX-License-Identifier: Apache-2.0
// The tables of query times: filters in the caches, asked in turns; and batches against single
// queries when the filter is not in the caches of the core.
#include <algorithm>
#include <array>

#include "bench/compare/tables.h"
#include "bench/machine.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

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

constexpr std::pair<const char*, std::vector<double> TimedFilter::*> kSamples[] = {
    {"missing", &TimedFilter::missing},
    {"present", &TimedFilter::present},
    {"batch", &TimedFilter::batch},
    {"present_batch", &TimedFilter::present_batch}};

// Rows: filter, keys, part (the line-up's first filter), and for NAME = missing, present, batch
// (of kBatch missing keys), present_batch: NAME_ns_min, NAME_ns_median, NAME_spread_percent,
// NAME_over_reference (ratio of the least times); spread_percent, the largest of the four;
// KIND_batch_over_single (of the least times) for KIND = missing, present; isa.
// Every line-up is related to its first filter. A key that a filter has lost is added to the
// failures.
nlohmann::json TimeQueries(const std::vector<Candidates>& series, const KeySet& keys, Run* run) {
  run->Begin("queries: building filters of " + KeysHeading(keys.count()));
  std::vector<TimedFilter> filters = BuildAll(series, keys);
  QueryTimer timer(keys, run->settings.queries_per_sample);
  for (int round = 0; round < run->settings.query_rounds; round++) {
    run->Begin("queries: " + KeysHeading(keys.count()) + ", round " +
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
    double spread = 0;
    for (const auto& [name, samples] : kSamples) {
      AddTimes(name, timed.*samples, &row, &(reference.*samples));
      spread = std::max(spread, row[std::string(name) + "_spread_percent"].get<double>());
    }
    row["spread_percent"] = spread;
    row["missing_batch_over_single"] = LeastOf(timed.batch) / LeastOf(timed.missing);
    row["present_batch_over_single"] = LeastOf(timed.present_batch) / LeastOf(timed.present);
    rows.push_back(row);
    if (timed.lost_a_key) {
      run->Fail(timed.candidate->spec() + ", " + KeysHeading(keys.count()) +
                ": a present key was not found");
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

// The time to hash is in all others; it depends on the keys only.
std::vector<Candidates> WithHashOnly(const Settings& settings) {
  std::vector<Candidates> series = TimedSeries(settings);
  if (settings.specs.empty()) series.push_back(MakeCandidates({"hash-only"}));
  return series;
}

class CacheEvictor {
 public:
  CacheEvictor() : buffer_(BytesLargerThanPrivateCaches(), 1) {}
  void Evict() {
    constexpr size_t kLine = 64;
    volatile unsigned char* bytes = buffer_.data();  // nobody reads them again
    for (size_t i = 0; i < buffer_.size(); i += kLine) bytes[i] = bytes[i] + 1;
  }

 private:
  std::vector<unsigned char> buffer_;
};

struct ColdFilter {
  const Candidate* candidate;
  BuiltFilter filter;
  // Of the same kind, but tiny: asked just before the time is taken, so that what is measured is a
  // filter that has left the caches, not code that has.
  BuiltFilter twin;
  std::vector<double> single[2], batch[2];  // by KeyKind
};

class ColdTimer {
 public:
  ColdTimer(const KeySet& keys, const KeySet& twin_keys) : chunk_(keys), twin_chunk_(twin_keys) {}

  // Nanoseconds per key, of one batch of kBatch keys.
  template <typename Ask>
  double OneBatch(const ColdFilter& cold, KeyKind kind, Ask ask) {
    evictor_.Evict();
    chunk_.FillAtRandom(kind, next_++, kBatch);
    twin_chunk_.FillAtRandom(kind, next_, kBatch);
    ask(cold.twin, &twin_chunk_);
    watch_.Start();
    ask(cold.filter, &chunk_);
    watch_.Stop();
    return watch_.TakeNanoseconds() / kBatch;
  }

 private:
  CacheEvictor evictor_;
  KeyChunk chunk_, twin_chunk_;
  uint64_t next_ = 1;
  Stopwatch<WallClock> watch_;
};

volatile bool sink;  // so that no answer is thrown away unseen

void AskSingly(const BuiltFilter& filter, KeyChunk* keys) {
  bool any = false;
  for (size_t i = 0; i < kBatch; i++) any ^= filter.reader->MayMatch((*keys)[i]);
  sink = any;
}

void AskAsBatch(const BuiltFilter& filter, KeyChunk* keys) {
  std::array<bool, kBatch> may_match;
  filter.reader->MayMatch(kBatch, keys->Pointers(), may_match.data());
  sink = may_match[0];
}

void TimeColdRound(int batches, ColdTimer* timer, ColdFilter* cold) {
  for (KeyKind kind : {KeyKind::kPresent, KeyKind::kMissing}) {
    std::vector<double> single, batch;
    for (int i = 0; i < batches; i++) {
      single.push_back(timer->OneBatch(*cold, kind, AskSingly));
      batch.push_back(timer->OneBatch(*cold, kind, AskAsBatch));
    }
    cold->single[static_cast<int>(kind)].push_back(MedianOf(single));
    cold->batch[static_cast<int>(kind)].push_back(MedianOf(batch));
  }
}

void AddColdRow(const ColdFilter& cold, uint64_t keys, Table* table) {
  nlohmann::json row = {{"filter", cold.candidate->spec()},
                        {"keys", keys},
                        {"group", KeysHeading(keys)},
                        {"isa", ActiveIsaName()}};
  for (KeyKind kind : {KeyKind::kPresent, KeyKind::kMissing}) {
    const std::string name = kind == KeyKind::kPresent ? "present" : "missing";
    const auto& single = cold.single[static_cast<int>(kind)];
    const auto& batch = cold.batch[static_cast<int>(kind)];
    AddTimes(name + "_single", single, &row);
    AddTimes(name + "_batch", batch, &row);
    row[name + "_batch_over_single"] = MedianOf(batch) / MedianOf(single);
  }
  table->rows.push_back(row);
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

Table MeasureCold(Run* run) {
  Table table = {
      .name = "cold",
      .title = "BATCHES AGAINST SINGLE QUERIES, FILTERS OUT OF THE PRIVATE CACHES",
      .explanation =
          "Nanoseconds per key: 32 keys asked one by one, or in one call as MultiGet does. Before "
          "each "
          "32, a buffer larger than the caches of the core is written. Least and median of the "
          "rounds; "
          "a round is the median of its batches, by wall clock. Ratio: batch over single, of the "
          "medians.",
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
  for (uint64_t count : run->settings.cold_keys) {
    const KeySet keys(count, 1);
    run->Begin("cold: building filters of " + KeysHeading(count));
    const std::vector<Candidates> series = TimedSeries(run->settings);
    std::vector<ColdFilter> filters;
    for (const Candidates& candidates : series) {
      for (const Candidate& candidate : candidates) {
        filters.push_back({&candidate, candidate.Build(keys), candidate.Build(twin_keys), {}, {}});
      }
    }
    ColdTimer timer(keys, twin_keys);
    for (int round = 0; round < run->settings.cold_rounds; round++) {
      run->Begin("cold: round " + std::to_string(round + 1));
      for (ColdFilter& cold : filters) {
        TimeColdRound(run->settings.cold_batches_per_round, &timer, &cold);
      }
    }
    for (const ColdFilter& cold : filters) AddColdRow(cold, count, &table);
  }
  return table;
}

}  // namespace rocksieve::bench
