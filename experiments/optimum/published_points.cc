#include <rocksieve/dynamic/bloom_filter.h>

#include "experiments/optimum/tables.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

struct Point {
  const char* name;
  double published_rate;
  // One of both.
  double rate;
  double bits_per_key;
};

constexpr Point kPoints[] = {{"Made for a rate of 0.01 %", 1.24e-4, 1e-4, 0},
                             {"10 bits per key", 0.0082, 0, 10}};

constexpr std::pair<const char*, BloomHashing> kHashings[] = {
    {"Bloom, double hashing", BloomHashing::kDouble},
    {"Bloom, enhanced double", BloomHashing::kEnhancedDouble},
    {"Bloom, independent", BloomHashing::kIndependent}};

BloomFilterOptions OptionsOf(const Point& point, uint64_t keys) {
  if (point.rate > 0) return BloomFilterOptions::ForKeys(keys, point.rate);
  BloomFilterOptions options;
  options.bits = static_cast<uint64_t>(point.bits_per_key * static_cast<double>(keys));
  options.hashes = OptimalBloomHashes(options.bits, keys);
  return options;
}

FilterSpec SpecOf(const Point& point, Family family) {
  FilterSpec spec;
  spec.family = family;
  spec.unit = point.rate > 0 ? FilterSpec::Unit::kFalsePositiveRate : FilterSpec::Unit::kBitsPerKey;
  spec.amount = point.rate > 0 ? point.rate : point.bits_per_key;
  return spec;
}

class Rows {
 public:
  Rows(const OptimumInput& input, Table* table, Run* run)
      : input_(input), table_(table), run_(run) {}

  void AddBloom(const Point& point, const char* name, BloomHashing hashing) {
    BloomFilterOptions options = OptionsOf(point, input_.keys.size());
    options.hashing = hashing;
    BloomFilter filter(options);
    for (const std::string& key : input_.keys) filter.Add(key);
    Add(point, name, filter, static_cast<double>(options.bits),
        BloomFalsePositiveRate(options.bits, options.hashes, input_.keys.size()));
  }

  void AddStatic(const Point& point, const char* name, Family family) {
    FilterBuilder builder(SpecOf(point, family));
    for (const std::string& key : input_.keys) builder.AddKey(key);
    const FilterBlock block = builder.Finish();
    const OpenedFilter opened = OpenFilter(block.view());
    Add(point, name, *opened.filter, 8 * static_cast<double>(block.size),
        ExpectedFalsePositiveRate(opened.info));
  }

 private:
  template <typename AnyFilter>
  void Add(const Point& point, const std::string& name, const AnyFilter& filter, double bits,
           double expected) {
    run_->progress(std::string(point.name) + ", " + name);
    const CountedRate words = CountWords(filter, input_.missing);
    const CountedRate random = CountRandom(filter, input_.missing);
    Check(name + ", " + point.name, random, expected, run_);
    table_->rows.push_back({{"group", point.name},
                            {"filter", name},
                            {"bits_per_key", bits / static_cast<double>(input_.keys.size())},
                            {"expected", expected},
                            {"words_rate", words.Rate()},
                            {"words_half_width_95", words.HalfWidth95()},
                            {"random_rate", random.Rate()},
                            {"random_half_width_95", random.HalfWidth95()},
                            {"published_rate", point.published_rate}});
  }

  const OptimumInput& input_;
  Table* const table_;
  Run* const run_;
};

}  // namespace

Table MeasurePublishedPoints(const OptimumInput& input, Run* run) {
  Table table;
  table.name = "optimum_published";
  table.title = "THE PUBLISHED POINTS";
  table.explanation = Thousands(input.keys.size()) +
                      " keys, rates in percent, as above; beside them the published rate, of a "
                      "Bloom filter.";
  table.columns = {{"filter", "", "filter", Kind::kText},
                   {"bits_per_key", "bits", "per key", Kind::kFixed, 2},
                   {"expected", "", "formula", Kind::kPercent, 3},
                   {"words_rate", "", "words", Kind::kPercent, 3},
                   {"words_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"random_rate", "", "random", Kind::kPercent, 3},
                   {"random_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"published_rate", "pub-", "lished", Kind::kPercent, 3}};
  Rows rows(input, &table, run);
  for (const Point& point : kPoints) {
    for (const auto& [name, hashing] : kHashings) rows.AddBloom(point, name, hashing);
    rows.AddStatic(point, "rocksieve.bloom", Family::kBloom);
    rows.AddStatic(point, "rocksieve.cuckoo", Family::kCuckoo);
    rows.AddStatic(point, "rocksieve.ribbon", Family::kRibbon);
  }
  return table;
}

}  // namespace rocksieve::experiments
