// SPDX-License-Identifier: Apache-2.0
// The experiment "set_operations": what is lost if one node sends another a filter of its keys, and
// the other takes what does not pass for the difference; beside the join, which is exact.
//
// Of the keys that only the client_options node has, each passes the filter by mistake with its
// rate f, and is then missing: f |A \ B| of them, binomially distributed. The same keys are what an
// intersection by filter has too many.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/filter.h>

#include "bench/experiments/experiment.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/server_session.h"
#include "support/table.h"
#include "support/text.h"
#include "tests/join/in_memory.h"

namespace rocksieve::experiments {
namespace {

// The keys of two nodes, words of a list, and what set operations on them should give.
struct TwoNodes {
  std::string name;
  std::vector<std::string> here, there;  // sorted, each once
  std::vector<std::string> only_here;    // by std::set_difference
};

// Of the words of wamerican-insane every stride-th one is somewhere: at both nodes with a
// probability of share_of_both, else at one of them, which is as likely as the other.
TwoNodes WordsOfTwoNodes(const std::string& name, double share_of_both, size_t stride,
                         uint64_t seed) {
  std::vector<std::string> words = InsaneWords();
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  TwoNodes nodes;
  nodes.name = name;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  for (size_t i = 0; i < words.size(); i += stride) {
    const double draw = uniform(random), half_of_rest = share_of_both + (1 - share_of_both) / 2;
    if (draw < half_of_rest) nodes.here.push_back(words[i]);
    if (draw < share_of_both || draw >= half_of_rest) nodes.there.push_back(words[i]);
  }
  std::set_difference(nodes.here.begin(), nodes.here.end(), nodes.there.begin(), nodes.there.end(),
                      std::back_inserter(nodes.only_here));
  return nodes;
}

// What a way gives to find the keys that only the node here has.
struct DifferenceResult {
  std::string error;         // empty if it ran
  uint64_t bytes = 0;        // between the nodes
  uint64_t found = 0;        // keys that it gives
  uint64_t invented = 0;     // of these, keys that the other node has as well
  double promised_rate = 0;  // of false positives, of the filter that was made

  void Add(std::string_view key, const TwoNodes& nodes) {
    found++;
    if (!std::binary_search(nodes.only_here.begin(), nodes.only_here.end(), key)) invented++;
  }
  template <typename AnyFilter>
  void AddWhatDoesNotPass(const AnyFilter& filter, const TwoNodes& nodes) {
    for (const std::string& key : nodes.here) {
      if (!filter.MayContain(key)) Add(key, nodes);
    }
  }
};

join::MemorySource::Rows RowsOf(const std::vector<std::string>& keys) {
  join::MemorySource::Rows rows;
  for (const std::string& key : keys) rows.emplace_back(key, "");
  return rows;
}

class DifferenceSink final : public join::Sink {
 public:
  explicit DifferenceSink(const TwoNodes& nodes) : nodes_(nodes) {}

  absl::Status Add(const join::Row& row, join::Side) override {
    pending_.Add(row.key, nodes_);
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

// The node there sends a filter, of a spec with a rate; what does not pass is the result.
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
  result.promised_rate = ExpectedFalsePositiveRate(opened.info);
  result.AddWhatDoesNotPass(*opened.filter, nodes);
  return result;
}

DifferenceResult DifferenceByBloomFilter(const TwoNodes& nodes, double rate) {
  BloomFilter filter(BloomFilterOptions::ForKeys(nodes.there.size(), rate));
  for (const std::string& key : nodes.there) filter.Add(key);
  DifferenceResult result;
  result.bytes = filter.Serialize().size();
  result.promised_rate = filter.ExpectedFalsePositiveRate();
  result.AddWhatDoesNotPass(filter, nodes);
  return result;
}

// The nodes join (lib/join): messages to and fro.
DifferenceResult DifferenceByJoin(const TwoNodes& nodes, uint64_t seed) {
  join::MemorySource here(RowsOf(nodes.here)), there(RowsOf(nodes.there));
  DifferenceSink sink(nodes);
  join::ClientSessionOptions client_options;
  client_options.operation = join::Operation::kLocalOnly;
  client_options.salt = seed;
  join::ClientSession client(&here, &sink, client_options);
  join::ServerSession server(&there, join::ServerSessionOptions());
  const join::Piped piped = join::RunPipe(&client, &server);
  DifferenceResult result = sink.result();
  result.bytes = piped.to_server + piped.to_client;
  if (!piped.status.ok()) result.error = piped.status.ToString();
  if (result.error.empty() && !client.done()) result.error = "the join did not come to its end";
  return result;
}

using Kind = Column::Kind;

constexpr uint64_t kSeed = 20240607;

void Measure(const TwoNodes& nodes, Run* run, Table* table) {
  const auto all = static_cast<double>(nodes.only_here.size());
  const auto add = [&](const std::string& way, const DifferenceResult& result, double rate = 0) {
    const auto fail = [&](const std::string& what) {
      run->Fail("set operations, " + nodes.name + ", " + way + ": " + what);
    };
    if (!result.error.empty()) return fail(result.error);
    const double lost = all - static_cast<double>(result.found);
    nlohmann::json row = {{"group", nodes.name + ": " + Thousands(nodes.only_here.size()) + " of " +
                                        Thousands(nodes.here.size()) + " words"},
                          {"part", rate == 0 ? "exact" : Shortest(rate)},
                          {"way", way},
                          {"bytes", result.bytes},
                          {"bits_per_key", 8.0 * static_cast<double>(result.bytes) /
                                               static_cast<double>(nodes.there.size())},
                          {"found", result.found},
                          {"lost", lost}};
    if (rate == 0) {
      if (result.invented != 0 || lost != 0) fail("its result is not that of std::set_difference");
    } else {
      const double expected = all * result.promised_rate;
      row["rate"] = rate;
      row["expected_lost"] = expected;
      if (result.invented != 0) fail("found keys that the other node has: false negatives");
      // Five standard deviations, and what rounding may make of few.
      if (std::abs(lost - expected) > 5 * std::sqrt(expected) + 5) {
        fail("lost " + Fixed(lost, 0) + " keys where " + Fixed(expected, 1) + " are expected");
      }
    }
    table->rows.push_back(row);
  };
  for (const double rate : {0.1, 0.01, 0.001, 0.0001}) {
    for (const std::string family : {"ribbon", "bloom"}) {
      add("rocksieve." + family, DifferenceByStaticFilter(nodes, family, rate), rate);
    }
    add("BloomFilter", DifferenceByBloomFilter(nodes, rate), rate);
  }
  add("join", DifferenceByJoin(nodes, kSeed));
  DifferenceResult shipped;
  for (const std::string& key : nodes.there) shipped.bytes += key.size() + 1;
  shipped.found = nodes.only_here.size();
  add("the keys themselves", shipped);
}

}  // namespace

void MeasureSetOperations(Run* run) {
  Table table;
  table.name = "set_operations";
  table.title = "SET OPERATIONS SHIPPED";
  table.explanation =
      "Which words are only here? The node there sends a filter of its words, and what does not "
      "pass is the answer: it lacks the words that passed by mistake (an intersection would have "
      "as many too many). Beside it the join, both ways, which lacks nothing, and the words of "
      "that node as text.";
  table.columns = {{"way", "", "sent", Kind::kText},
                   {"rate", "rate,", "%", Kind::kPercent, 1},
                   {"bytes", "", "bytes", Kind::kFixed, 0},
                   {"bits_per_key", "bits per", "key there", Kind::kFixed, 2},
                   {"found", "words", "found", Kind::kFixed, 0},
                   {"lost", "", "lost", Kind::kFixed, 0},
                   {"expected_lost", "lost, as", "promised", Kind::kFixed, 1}};
  const size_t stride = run->settings.quick ? 10 : 1;
  for (const auto& [name, share_of_both] :
       {std::pair<const char*, double>{"replicas", 0.98}, {"half of all at both", 0.5}}) {
    run->Begin(name);
    const TwoNodes nodes = WordsOfTwoNodes(name, share_of_both, stride, kSeed);
    Measure(nodes, run, &table);
  }
  run->Add(table);
}

}  // namespace rocksieve::experiments
