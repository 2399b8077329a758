#include "experiments/set_operations/set_operations.h"

#include <cmath>

#include "experiments/set_operations/difference.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

constexpr uint64_t kSeed = 20240607;

class Session {
 public:
  Session(const TwoNodes& nodes, Run* run, Table* table)
      : nodes_(nodes), run_(run), table_(table) {}

  void Measure() {
    for (const double rate : {0.1, 0.01, 0.001, 0.0001}) {
      for (const char* family : {"ribbon", "bloom"}) {
        const std::string way = std::string("rocksieve.") + family;
        AddFilter(way, DifferenceByStaticFilter(nodes_, family, rate));
      }
      AddFilter("BloomFilter", DifferenceByBloomFilter(nodes_, rate));
    }
    AddJoin(DifferenceByJoin(nodes_, kSeed));
    AddRow("the keys themselves", BytesOfKeys(), nodes_.only_here.size());
  }

 private:
  nlohmann::json* AddRow(const std::string& way, uint64_t bytes, uint64_t found) {
    table_->rows.push_back(
        {{"group", nodes_.name + ": " + Thousands(nodes_.only_here.size()) + " of " +
                       Thousands(nodes_.here.size()) + " words"},
         {"only_here", nodes_.only_here.size()},
         {"here", nodes_.here.size()},
         {"there", nodes_.there.size()},
         {"way", way},
         {"bytes", bytes},
         {"bits_per_key",
          8.0 * static_cast<double>(bytes) / static_cast<double>(nodes_.there.size())},
         {"found", found},
         {"lost", static_cast<int64_t>(nodes_.only_here.size()) - static_cast<int64_t>(found)}});
    return &table_->rows.back();
  }

  void AddFilter(const std::string& way, const DifferenceResult& result) {
    if (!result.error.empty()) return Fail(way, result.error);
    nlohmann::json* const row = AddRow(way, result.bytes, result.found);
    const auto all = static_cast<double>(nodes_.only_here.size());
    const double expected = all * result.promised_rate,
                 lost = all - static_cast<double>(result.found);
    (*row)["part"] = Shortest(result.rate);
    (*row)["rate"] = result.rate;
    (*row)["expected_lost"] = expected;
    if (result.invented != 0) Fail(way, "found keys that the other node has: false negatives");
    // Five standard deviations, and what rounding may make of few.
    if (std::abs(lost - expected) > 5 * std::sqrt(expected) + 5) {
      Fail(way, "lost " + Fixed(lost, 0) + " keys where " + Fixed(expected, 1) + " are expected");
    }
  }

  void AddJoin(const DifferenceResult& result) {
    if (!result.error.empty()) return Fail("join", result.error);
    (*AddRow("join", result.bytes, result.found))["part"] = "exact";
    if (result.invented != 0 || result.found != nodes_.only_here.size()) {
      Fail("join", "its result is not that of std::set_difference");
    }
  }

  void Fail(const std::string& way, const std::string& what) {
    run_->failures.push_back("set operations, " + nodes_.name + ", " + way + ": " + what);
  }

  uint64_t BytesOfKeys() const {
    uint64_t bytes = 0;
    for (const std::string& key : nodes_.there) bytes += key.size() + 1;
    return bytes;
  }

  const TwoNodes& nodes_;
  Run* const run_;
  Table* const table_;
};

}  // namespace

Outcome MeasureSetOperations(Run* run) {
  Table table;
  table.name = "set_operations";
  table.title = "SET OPERATIONS SHIPPED";
  table.explanation =
      "Which words are only here? The node there sends a filter of its words, and what does not "
      "pass is the answer: it lacks the words that passed by mistake (an intersection would have "
      "as "
      "many too many). Beside it the join, both ways, which lacks nothing, and the words of that "
      "node as text.";
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
    run->progress(name);
    const TwoNodes nodes = WordsOfTwoNodes(name, share_of_both, stride, kSeed);
    Session(nodes, run, &table).Measure();
  }
  return {{table}, {}};
}

}  // namespace rocksieve::experiments
