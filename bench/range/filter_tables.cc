// SPDX-License-Identifier: Apache-2.0
// Range filters without a database: sizes, false positives, and times beside a ribbon filter.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <rocksieve/filter.h>

#include "bench/clock.h"
#include "bench/range/figures.h"
#include "lib/range/reader.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

// Keys of 8 bytes.
struct NumberSet {
  std::string heading;
  std::vector<uint64_t> numbers;  // sorted, distinct
  std::vector<std::string> keys;  // the same
};

NumberSet SetOf(const std::string& name, uint64_t count, uint64_t (*next)(uint64_t random)) {
  std::mt19937_64 random(count);
  NumberSet set;
  for (uint64_t i = 0; i < count; i++) set.numbers.push_back(next(random()));
  std::sort(set.numbers.begin(), set.numbers.end());
  set.numbers.erase(std::unique(set.numbers.begin(), set.numbers.end()), set.numbers.end());
  set.heading = name + ", " + Counted(set.numbers.size(), "key");
  for (const uint64_t number : set.numbers) set.keys.push_back(BigEndian(number));
  return set;
}

std::vector<NumberSet> NumberSets(const RangeSettings& settings) {
  std::vector<NumberSet> sets;
  for (const uint64_t count : settings.uniform_keys) {
    sets.push_back(SetOf("uniform numbers", count, [](uint64_t random) { return random; }));
  }
  // Milliseconds, about a second apart.
  static uint64_t time;
  time = 1'700'000'000'000;
  sets.push_back(SetOf("timestamps", settings.timestamps,
                       [](uint64_t random) { return time += 1 + random % 2000; }));
  return sets;
}

struct BuiltRangeFilter {
  FilterBlock block;
  OpenedFilter opened;
  double build_ns = 0;  // per key, CPU time

  const Filter& filter() const { return *opened.filter; }
};

BuiltRangeFilter BuildFilterOf(const std::string& spec, const NumberSet& set) {
  FilterSpec parsed;
  const std::string error = FilterSpec::Parse(spec, &parsed);
  if (!error.empty()) throw std::runtime_error(error);
  BuiltRangeFilter built;
  Stopwatch<CpuClock> watch;
  watch.Start();
  FilterBuilder builder(parsed);
  for (const std::string& key : set.keys) builder.AddKey(key);
  built.block = builder.Finish();
  watch.Stop();
  built.build_ns = watch.TakeNanoseconds() / static_cast<double>(set.keys.size());
  built.opened = OpenFilter(built.block.view());
  if (built.opened.filter == nullptr) throw std::runtime_error(spec + ": no filter was built");
  return built;
}

double BlockBitsPerKey(const BuiltRangeFilter& built, const NumberSet& set) {
  return 8 * static_cast<double>(built.block.size) / static_cast<double>(set.keys.size());
}

enum class Place { kAnywhere, kAfterAKey };

// Draws numbers, and asks a filter about those that are not there.
class RateCounter {
 public:
  RateCounter(const NumberSet& set, const BuiltRangeFilter& built, RangeRun* run)
      : set_(set), filter_(built.filter()), run_(*run) {}

  // Share of the empty ranges of this length that the filter passes; 0: of absent keys.
  double Rate(Place place, uint64_t length) {
    uint64_t passed = 0, asked = 0;
    while (asked < run_.settings.rate_queries) {
      const uint64_t begin = Draw(place), end = begin + std::max<uint64_t>(length, 1);
      if (end < begin || HasKey(begin, end)) continue;
      asked++;
      passed += length == 0 ? filter_.MayContain(BigEndian(begin))
                            : filter_.MayContainRange(BigEndian(begin), BigEndian(end));
      run_.Advance();
    }
    return static_cast<double>(passed) / static_cast<double>(asked);
  }

  // Whether every key, and the range of it alone, is passed.
  bool LosesNothing() const {
    return std::all_of(set_.keys.begin(), set_.keys.end(), [&](const std::string& key) {
      return filter_.MayContain(key) && filter_.MayContainRange(key, key + '\0');
    });
  }

 private:
  uint64_t Draw(Place place) {
    if (place == Place::kAfterAKey) return set_.numbers[random_() % set_.numbers.size()] + 1;
    const uint64_t first = set_.numbers.front();
    return first + random_() % (set_.numbers.back() - first);
  }

  bool HasKey(uint64_t begin, uint64_t end) const {
    const auto next = std::lower_bound(set_.numbers.begin(), set_.numbers.end(), begin);
    return next != set_.numbers.end() && *next < end;
  }

  const NumberSet& set_;
  const Filter& filter_;
  RangeRun& run_;
  std::mt19937_64 random_{7};
};

constexpr std::pair<const char*, Place> kPlaces[] = {{"uncorrelated", Place::kAnywhere},
                                                     {"after_a_key", Place::kAfterAKey}};
constexpr uint64_t kLengths[] = {1, 16, 256};
constexpr double kRateBits[] = {12, 16};

// Of the part that knows the order: whether its codes are the numbers themselves, and what a code
// takes beyond the least that random codes at such a rate need.
void AddOrderPart(const BuiltRangeFilter& built, nlohmann::json* row) {
  range::Parts parts;
  if (!range::ParseParts(built.opened.info, &parts)) return;
  for (const range::PartInfo& part : parts.parts) {
    range::CodeSet codes;
    if (part.kind != range::PartKind::kOrder || !range::ParseCodes(part, &codes)) continue;
    const auto count = static_cast<double>(codes.codes());
    const double bits = 8 * static_cast<double>(part.payload.size()) / count;
    (*row)["codes"] = part.payload[0] == 0 ? "exact" : "hashed";
    (*row)["bits_per_code"] = bits;
    (*row)["bits_over_log2_of_gap"] =
        bits - std::log2(static_cast<double>(codes.universe()) / count);
  }
}

nlohmann::json RatesOf(const NumberSet& set, double bits, RangeRun* run) {
  const std::string spec = "rocksieve.range:" + Shortest(bits);
  run->Begin("rates: " + spec + ", " + set.heading, run->settings.rate_queries * 7);
  const BuiltRangeFilter built = BuildFilterOf(spec, set);
  RateCounter counter(set, built, run);
  if (!counter.LosesNothing()) {
    run->Fail(spec + ", " + set.heading + ": a present key was not found");
  }
  nlohmann::json row = {
      {"filter", spec}, {"group", set.heading}, {"bits_per_key", BlockBitsPerKey(built, set)}};
  AddOrderPart(built, &row);
  for (const auto& [name, place] : kPlaces) {
    for (const uint64_t length : kLengths) {
      row[name]["length_" + std::to_string(length)] = counter.Rate(place, length);
    }
  }
  row["get"] = counter.Rate(Place::kAnywhere, 0);
  return row;
}

nlohmann::json TheoryFor(double bits) {
  nlohmann::json row = {{"filter", "theory, " + Shortest(bits) + " bits"},
                        {"group", "L / 2^(bits - 2)"}};
  for (const auto& [name, place] : kPlaces) {
    for (const uint64_t length : kLengths) {
      row[name]["length_" + std::to_string(length)] =
          std::min(1.0, static_cast<double>(length) * std::exp2(2 - bits));
    }
  }
  return row;
}

// A filter whose builds and queries are timed.
struct TimedRangeFilter {
  std::string spec;
  BuiltRangeFilter built;
  std::vector<double> build, get, range;
};

// Queries that no filter has been asked before, made outside of the time.
class TimedQueries {
 public:
  static constexpr uint64_t kLength = 16;
  static constexpr size_t kCount = 4096;

  explicit TimedQueries(const NumberSet& set) : set_(set) {}

  void Make() {
    begins_.clear();
    ends_.clear();
    const uint64_t first = set_.numbers.front();
    for (size_t i = 0; i < kCount; i++) {
      const uint64_t begin = first + random_() % (set_.numbers.back() - first - kLength);
      begins_.push_back(BigEndian(begin));
      ends_.push_back(BigEndian(begin + kLength));
    }
  }

  double Gets(const Filter& filter) {
    return Time([&](size_t i) { return filter.MayContain(begins_[i]); });
  }
  double Ranges(const Filter& filter) {
    return Time([&](size_t i) { return filter.MayContainRange(begins_[i], ends_[i]); });
  }

 private:
  // Nanoseconds per query.
  template <typename Ask>
  double Time(Ask ask) {
    watch_.Start();
    uint64_t passed = 0;
    for (size_t i = 0; i < kCount; i++) passed += ask(i);
    watch_.Stop();
    passed_ = passed;
    return watch_.TakeNanoseconds() / kCount;
  }

  const NumberSet& set_;
  std::vector<std::string> begins_, ends_;
  std::mt19937_64 random_{11};
  Stopwatch<CpuClock> watch_;
  volatile uint64_t passed_ = 0;  // so that nothing is optimised away
};

// Brings back to the caches what the other filter has pushed out.
void TouchAll(const FilterBlock& block) {
  constexpr size_t kLine = 64;
  const volatile char* bytes = block.data.get();
  for (size_t i = 0; i < block.size; i += kLine) static_cast<void>(bytes[i]);
}

void TimeSet(const NumberSet& set, std::vector<TimedRangeFilter>* filters, RangeRun* run) {
  const RangeSettings& settings = run->settings;
  run->Begin("times: " + set.heading,
             static_cast<uint64_t>(settings.build_rounds + settings.query_rounds));
  for (int round = 0; round < settings.build_rounds; round++) {
    for (TimedRangeFilter& timed : *filters) {
      timed.built = BuildFilterOf(timed.spec, set);
      timed.build.push_back(timed.built.build_ns);
    }
    run->Advance();
  }
  TimedQueries queries(set);
  for (int round = 0; round < settings.query_rounds; round++) {
    for (TimedRangeFilter& timed : *filters) {
      TouchAll(timed.built.block);
      queries.Make();
      queries.Gets(timed.built.filter());  // only to warm up
      queries.Make();
      timed.get.push_back(queries.Gets(timed.built.filter()));
      timed.range.push_back(queries.Ranges(timed.built.filter()));
    }
    run->Advance();
  }
}

}  // namespace

Table MeasureRangeRates(RangeRun* run) {
  Table table = {
      .name = "rates",
      .title = "THE FILTER ALONE",
      .explanation =
          "Keys are numbers of 8 bytes. Over log2: the bits that a code takes beyond "
          "log2(universe / codes), which is what the rate costs at least; exact codes are the "
          "numbers themselves. Shares of empty ranges of length 1, 16 and 256 that the filter "
          "passes, which begin anywhere between the smallest and the largest key, or just after a "
          "key; and of absent keys.",
      .columns = {{"filter", "", "filter", Kind::kText},
                  {"bits_per_key", "bits", "per key"},
                  {"codes", "", "codes", Kind::kText},
                  {"bits_over_log2_of_gap", "over", "log2"},
                  {"/uncorrelated/length_1", "anywhere", "1", Kind::kSignificant, 2},
                  {"/uncorrelated/length_16", "", "16", Kind::kSignificant, 2},
                  {"/uncorrelated/length_256", "", "256", Kind::kSignificant, 2},
                  {"/after_a_key/length_1", "after a key", "1", Kind::kSignificant, 2},
                  {"/after_a_key/length_16", "", "16", Kind::kSignificant, 2},
                  {"/after_a_key/length_256", "", "256", Kind::kSignificant, 2},
                  {"get", "", "Get", Kind::kSignificant, 2}},
  };
  for (const NumberSet& set : NumberSets(run->settings)) {
    for (const double bits : kRateBits) table.rows.push_back(RatesOf(set, bits, run));
  }
  for (const double bits : kRateBits) table.rows.push_back(TheoryFor(bits));
  return table;
}

Table MeasureRangeTimes(RangeRun* run) {
  Table table = {
      .name = "times",
      .title = "TIMES OF THE FILTER ALONE",
      .explanation =
          "CPU nanoseconds, the least and the median of the rounds, in which the filters take "
          "turns; filters in the caches as far as they fit. Build: per key. Get: of absent keys. "
          "Range: empty ones of length 16. Ratio: of the least times, over those of the ribbon "
          "filter; of ranges, over its Get.",
      .columns = {{"filter", "", "filter", Kind::kText},
                  {"bits_per_key", "bits", "per key"},
                  {"build_ns_min", "build", "min", Kind::kFixed, 0},
                  {"build_ns_median", "", "median", Kind::kFixed, 0},
                  {"build_over_reference", "", "ratio"},
                  {"get_ns_min", "Get", "min", Kind::kFixed, 1},
                  {"get_ns_median", "", "median", Kind::kFixed, 1},
                  {"get_over_reference", "", "ratio"},
                  {"range_ns_min", "range", "min", Kind::kFixed, 1},
                  {"range_ns_median", "", "median", Kind::kFixed, 1},
                  {"range_over_reference", "", "ratio"}},
  };
  for (const NumberSet& set : NumberSets(run->settings)) {
    std::vector<TimedRangeFilter> filters(2);
    filters[0].spec = "rocksieve.ribbon:12";
    filters[1].spec = "rocksieve.range:12";
    TimeSet(set, &filters, run);
    for (const TimedRangeFilter& timed : filters) {
      nlohmann::json row = {{"filter", timed.spec},
                            {"group", set.heading},
                            {"bits_per_key", BlockBitsPerKey(timed.built, set)}};
      AddTimes("build", timed.build, &row, &filters[0].build);
      AddTimes("get", timed.get, &row, &filters[0].get);
      if (&timed != &filters[0]) AddTimes("range", timed.range, &row, &filters[0].get);
      table.rows.push_back(row);
    }
  }
  return table;
}

}  // namespace rocksieve::bench
