#include "experiments/set_operations/difference.h"

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/filter.h>

#include <algorithm>
#include <string_view>

#include "lib/join/rows/memory_source.h"
#include "lib/join/session/answering_side.h"
#include "lib/join/session/asking_side.h"
#include "support/table.h"
#include "tests/join/pipe.h"

namespace rocksieve::experiments {
namespace {

void Add(std::string_view key, const TwoNodes& nodes, DifferenceResult* result) {
  result->found++;
  result->invented +=
      std::binary_search(nodes.only_here.begin(), nodes.only_here.end(), key) ? 0 : 1;
}

template <typename AnyFilter>
void KeepWhatDoesNotPass(const AnyFilter& filter, const TwoNodes& nodes, DifferenceResult* result) {
  for (const std::string& key : nodes.here) {
    if (!filter.MayContain(key)) Add(key, nodes, result);
  }
}

join::MemorySource::Rows RowsOf(const std::vector<std::string>& keys) {
  join::MemorySource::Rows rows;
  for (const std::string& key : keys) rows.emplace_back(key, "");
  return rows;
}

class DifferenceSink final : public join::Sink {
 public:
  explicit DifferenceSink(const TwoNodes& nodes) : nodes_(nodes) {}

  absl::Status Add(const join::Row& row, join::Side) override {
    experiments::Add(row.key, nodes_, &pending_);
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    committed_ = pending_;
    return absl::OkStatus();
  }
  absl::Status Discard() override {
    pending_ = committed_;
    return absl::OkStatus();
  }
  const DifferenceResult& result() const { return committed_; }

 private:
  const TwoNodes& nodes_;
  DifferenceResult committed_, pending_;
};

}  // namespace

DifferenceResult DifferenceByStaticFilter(const TwoNodes& nodes, const std::string& family,
                                          double rate) {
  DifferenceResult result;
  FilterSpec spec;
  result.error = FilterSpec::Parse("rocksieve." + family + ":" + Shortest(100 * rate) + "%", &spec);
  if (!result.error.empty()) return result;
  FilterBuilder builder(spec);
  for (const std::string& key : nodes.there) builder.AddKey(key);
  const FilterBlock block = builder.Finish();
  const OpenedFilter opened = OpenFilter(block.view());
  result.bytes = block.size;
  result.rate = rate;
  result.promised_rate = ExpectedFalsePositiveRate(opened.info);
  KeepWhatDoesNotPass(*opened.filter, nodes, &result);
  return result;
}

DifferenceResult DifferenceByBloomFilter(const TwoNodes& nodes, double rate) {
  BloomFilter filter(BloomFilterOptions::ForKeys(nodes.there.size(), rate));
  for (const std::string& key : nodes.there) filter.Add(key);
  DifferenceResult result;
  result.bytes = filter.Serialize().size();
  result.rate = rate;
  result.promised_rate = filter.ExpectedFalsePositiveRate();
  KeepWhatDoesNotPass(filter, nodes, &result);
  return result;
}

DifferenceResult DifferenceByJoin(const TwoNodes& nodes, uint64_t seed) {
  join::MemorySource here(RowsOf(nodes.here)), there(RowsOf(nodes.there));
  DifferenceSink sink(nodes);
  join::AskingOptions asking;
  asking.operation = join::Operation::kLocalOnly;
  asking.salt = seed;
  join::AskingSide asks(&here, &sink, asking);
  join::AnsweringSide answers(&there, join::AnsweringOptions());
  const join::Piped piped = join::RunPipe(&asks, &answers);
  DifferenceResult result = sink.result();
  result.bytes = piped.to_answering + piped.to_asking;
  if (!piped.status.ok()) result.error = piped.status.ToString();
  if (result.error.empty() && !asks.done()) result.error = "the join did not come to its end";
  return result;
}

}  // namespace rocksieve::experiments
