// SPDX-License-Identifier: Apache-2.0
// Batches against single queries when the filter is not in the caches of the core.
#include <array>

#include "bench/compare/clock.h"
#include "bench/compare/machine.h"
#include "bench/compare/tables.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

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

void TimeRound(int batches, ColdTimer* timer, ColdFilter* cold) {
  for (KeyKind kind : {KeyKind::kPresent, KeyKind::kMissing}) {
    std::vector<double> single, batch;
    for (int i = 0; i < batches; i++) {
      single.push_back(timer->OneBatch(*cold, kind, AskSingly));
      batch.push_back(timer->OneBatch(*cold, kind, AskAsBatch));
    }
    cold->single[static_cast<int>(kind)].push_back(Summarize(single).median);
    cold->batch[static_cast<int>(kind)].push_back(Summarize(batch).median);
  }
}

void AddRow(const ColdFilter& cold, uint64_t keys, Table* table) {
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
    row[name + "_batch_over_single"] = Summarize(batch).median / Summarize(single).median;
  }
  table->rows.push_back(row);
}

}  // namespace

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
    run->progress.Begin("cold: building filters of " + KeysHeading(count));
    const std::vector<Candidates> series = TimedSeries(run->settings);
    std::vector<ColdFilter> filters;
    for (const Candidates& candidates : series) {
      for (const Candidate& candidate : candidates) {
        filters.push_back({&candidate, candidate.Build(keys), candidate.Build(twin_keys), {}, {}});
      }
    }
    ColdTimer timer(keys, twin_keys);
    for (int round = 0; round < run->settings.cold_rounds; round++) {
      run->progress.Begin("cold: round " + std::to_string(round + 1));
      for (ColdFilter& cold : filters) {
        TimeRound(run->settings.cold_batches_per_round, &timer, &cold);
      }
    }
    for (const ColdFilter& cold : filters) AddRow(cold, count, &table);
  }
  return table;
}

}  // namespace rocksieve::bench
