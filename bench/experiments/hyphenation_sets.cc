// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/hyphenation.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <absl/container/flat_hash_set.h>
#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/cuckoo_filter.h>
#include <rocksieve/filter.h>

#include "bench/clock.h"

namespace rocksieve::experiments {
namespace {

constexpr char kGroff[] = "/usr/share/groff";
constexpr char kPrepare[] = "/usr/share/libhyphen/substrings.pl";


// Where groff keeps Liang's patterns and TeX's exceptions: the newest version's directory.
std::string GroffDirectory() {
  std::string newest;
  if (std::filesystem::exists(kGroff)) {
    for (const auto& entry : std::filesystem::directory_iterator(kGroff)) {
      const std::string directory = entry.path().string() + "/tmac";
      if (std::filesystem::exists(directory + "/hyphenex.us")) newest = std::max(newest, directory);
    }
  }
  if (newest.empty()) {
    throw std::runtime_error(std::string("no tmac/hyphenex.us below ") + kGroff +
                             ": install groff-base (Debian 12: version 1.22.4)");
  }
  return newest;
}

// The words between the braces of a \COMMAND{...} in a TeX file; comments are left out.
std::vector<std::string> TexBlock(const std::string& path, const std::string& command) {
  std::ifstream file(path);
  std::vector<std::string> words;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.size(), line.find('%')));
    if (line.rfind("\\" + command + "{", 0) == 0) {
      inside = true;
      line.erase(0, command.size() + 2);
    }
    if (!inside) continue;
    const size_t end = line.find('}');
    std::istringstream rest(line.substr(0, end));
    for (std::string word; rest >> word;) words.push_back(word);
    if (end != std::string::npos) inside = false;
  }
  if (words.empty()) throw std::runtime_error("no \\" + command + "{...} in " + path);
  return words;
}

// "hy-phen-ation" -> "hyphenation" with bits 1 and 5.
HyphenatedWord WithoutHyphens(std::string_view hyphenated) {
  HyphenatedWord result;
  for (const char c : hyphenated) {
    if (c != '-') {
      result.word += c;
    } else if (!result.word.empty()) {
      result.points |= HyphenPoints{1} << (result.word.size() - 1);
    }
  }
  return result;
}

// What may stand before the exact table of exceptions, behind one virtual call.
class KeySet {
 public:
  virtual ~KeySet() = default;
  // True for every word of the set, and for others at that rate; 0 if it is exact.
  virtual bool MayContain(std::string_view word) const = 0;
  virtual double ExpectedFalsePositiveRate() const = 0;
  virtual size_t MemoryBytes() const = 0;
};

struct Candidate {
  std::string name;
  bool exact = false;  // then it knows no rate
  // Throws std::runtime_error if not all of the words find a place.
  std::function<std::unique_ptr<const KeySet>(const std::vector<std::string>& words, double rate)>
      make;
};

// A filter of the toolbox.
template <typename Filter, typename Options>
class OneByOne : public KeySet {
 public:
  OneByOne(const std::vector<std::string>& words, double rate)
      : filter_(Options::ForKeys(words.size(), rate)) {
    for (const std::string& word : words) {
      if constexpr (std::is_void_v<decltype(filter_.Add(word))>) {
        filter_.Add(word);
      } else if (!filter_.Add(word)) {
        throw std::runtime_error("a set is full that was made for as many keys");
      }
    }
  }
  bool MayContain(std::string_view word) const override { return filter_.MayContain(word); }
  double ExpectedFalsePositiveRate() const override { return filter_.ExpectedFalsePositiveRate(); }
  size_t MemoryBytes() const override { return filter_.MemoryBytes(); }

 private:
  Filter filter_;
};

// One of the filters that are built once from all keys.
template <Family kFamily>
class StaticFilter : public KeySet {
 public:
  StaticFilter(const std::vector<std::string>& words, double rate) {
    FilterSpec spec;
    spec.family = kFamily;
    spec.unit = FilterSpec::Unit::kFalsePositiveRate;
    spec.amount = rate;
    FilterBuilder builder(spec);
    for (const std::string& word : words) builder.AddKey(word);
    block_ = builder.Finish();
    opened_ = OpenFilter(block_.view());
    if (!opened_.filter) throw std::runtime_error(spec.ToString() + " cannot be opened");
  }
  bool MayContain(std::string_view word) const override { return opened_.filter->MayContain(word); }
  double ExpectedFalsePositiveRate() const override {
    return rocksieve::ExpectedFalsePositiveRate(opened_.info);
  }
  size_t MemoryBytes() const override { return block_.size; }

 private:
  FilterBlock block_;
  OpenedFilter opened_;
};

class AbslHashTable : public KeySet {
 public:
  AbslHashTable(const std::vector<std::string>& words, double) {
    words_.reserve(words.size());
    words_.insert(words.begin(), words.end());
  }
  bool MayContain(std::string_view word) const override {
    return words_.contains(absl::string_view(word.data(), word.size()));
  }
  double ExpectedFalsePositiveRate() const override { return 0; }
  // A slot and a byte of control for each key that there could be, and strings that do not fit into
  // their slots (of libstdc++: 16 letters and more).
  size_t MemoryBytes() const override {
    size_t bytes = words_.capacity() * (sizeof(std::string) + 1);
    for (const std::string& word : words_) {
      if (word.capacity() >= sizeof(std::string) / 2) bytes += word.capacity() + 1;
    }
    return bytes;
  }

 private:
  absl::flat_hash_set<std::string> words_;
};

template <typename Set>
Candidate Named(std::string name, bool exact = false) {
  return {std::move(name), exact, [](const std::vector<std::string>& words, double rate) {
            return std::unique_ptr<const KeySet>(std::make_unique<Set>(words, rate));
          }};
}

std::vector<Candidate> Candidates() {
  return {Named<AbslHashTable>("Abseil's hash table", /*exact=*/true),
          Named<OneByOne<BloomFilter, BloomFilterOptions>>("Bloom filter"),
          Named<OneByOne<CuckooFilter, CuckooFilterOptions>>("cuckoo filter"),
          Named<StaticFilter<Family::kCuckoo>>("rocksieve.cuckoo"),
          Named<StaticFilter<Family::kRibbon>>("rocksieve.ribbon")};
}

using Clock = bench::CpuClock;
using ExactTable = std::unordered_map<std::string, HyphenPoints>;

// Builds at once, of which a sample of the initialisation is the mean: one is too short.
constexpr int kBuildsPerSample = 10;

struct Seat {
  const Candidate* candidate = nullptr;
  std::unique_ptr<const KeySet> set;
  HyphenationResult result;
  std::vector<double> initialisation_us, lookup_ns, run_ns;
};

// Nanoseconds per word of body(word), over every stride-th word.
template <typename Body>
double TimePerWord(const std::vector<std::string>& words, size_t stride, Body body) {
  const double start = Clock::Nanoseconds();
  for (size_t i = 0; i < words.size(); i += stride) body(words[i]);
  const auto count = static_cast<double>((words.size() + stride - 1) / stride);
  return (Clock::Nanoseconds() - start) / count;
}

class Session {
 public:
  Session(const HyphenationSettings& settings, const std::vector<std::string>& words,
          const std::vector<HyphenatedWord>& exceptions, const Patterns& patterns, Run* run)
      : settings_(settings), words_(words), patterns_(patterns), run_(run) {
    for (const HyphenatedWord& exception : exceptions) {
      exact_.emplace(exception.word, exception.points);
      keys_.push_back(exception.word);
    }
  }

  HyphenationResults Measure() {
    HyphenationResults results;
    results.words = words_.size();
    results.exceptions = keys_.size();
    for (const std::string& word : words_) results.listed_exceptions += exact_.count(word);
    for (const auto& [word, points] : exact_) {
      results.changed_by_patterns += patterns_.PointsOf(word) != points;
    }
    TakeSeats();
    for (Seat& seat : seats_) CountOnce(&seat);
    std::vector<double> patterns_ns, no_filter_ns;
    for (int repeat = 0; repeat < settings_.repeats; repeat++) {
      run_->Begin("repeat " + std::to_string(repeat + 1) + " of " +
                     std::to_string(settings_.repeats));
      patterns_ns.push_back(TimePatterns());
      no_filter_ns.push_back(TimeExactTable());
      for (Seat& seat : seats_) Sample(&seat);
    }
    results.patterns_ns = MeanOf(patterns_ns);
    results.no_filter_ns = MeanOf(no_filter_ns);
    for (Seat& seat : seats_) {
      seat.result.initialisation_us = MeanOf(seat.initialisation_us);
      seat.result.lookup_ns = MeanOf(seat.lookup_ns);
      seat.result.run_ns = MeanOf(seat.run_ns);
      results.results.push_back(seat.result);
    }
    return results;
  }

 private:
  void TakeSeats() {
    candidates_ = Candidates();
    for (const Candidate& candidate : candidates_) {
      for (const double rate : candidate.exact ? std::vector<double>{0} : settings_.rates) {
        Seat& seat = seats_.emplace_back();
        seat.candidate = &candidate;
        seat.set = candidate.make(keys_, rate);
        seat.result.candidate = candidate.name;
        seat.result.exact = candidate.exact;
        seat.result.rate = rate;
        seat.result.expected_rate = seat.set->ExpectedFalsePositiveRate();
        seat.result.memory_bytes = seat.set->MemoryBytes();
      }
    }
  }

  // What does not change from repeat to repeat: the hits, and whether all comes out right.
  void CountOnce(Seat* seat) {
    run_->Begin("counting, " + seat->result.candidate);
    size_t hits = 0, false_hits = 0;
    for (const std::string& word : words_) {
      const bool hit = seat->set->MayContain(word);
      const bool exception = exact_.count(word) > 0;
      hits += hit;
      false_hits += hit && !exception;
    }
    for (const std::string& key : keys_) seat->result.lost += !seat->set->MayContain(key);
    if (seat->result.lost > 0) {
      run_->Fail("hyphenation: " + seat->result.candidate + " lost exceptions");
    }
    const auto words = static_cast<double>(words_.size());
    seat->result.lookups_saved = 1 - static_cast<double>(hits) / words;
    const double absent = words - static_cast<double>(hits - false_hits);
    seat->result.observed_rate = static_cast<double>(false_hits) / absent;
    if (seat->result.exact && false_hits > 0) {
      run_->Fail("hyphenation: " + seat->result.candidate + " is not exact");
    }
  }

  double TimePatterns() const {
    HyphenPoints points = 0;
    const double time =
        TimePerWord(words_, settings_.hyphenation_stride,
                    [&](const std::string& word) { points ^= patterns_.PointsOf(word); });
    Use(points);
    return time;
  }

  double TimeExactTable() const {
    size_t found = 0;
    const double time = TimePerWord(words_, settings_.lookup_stride, [&](const std::string& word) {
      found += exact_.find(word) != exact_.end();
    });
    Use(found);
    return time;
  }

  void Sample(Seat* seat) const {
    std::unique_ptr<const KeySet> built[kBuildsPerSample];  // freed outside of the time
    const double start = Clock::Nanoseconds();
    for (auto& one : built) one = seat->candidate->make(keys_, seat->result.rate);
    seat->initialisation_us.push_back((Clock::Nanoseconds() - start) / kBuildsPerSample / 1000);

    const KeySet& set = *seat->set;
    size_t found = 0;
    seat->lookup_ns.push_back(
        TimePerWord(words_, settings_.lookup_stride, [&](const std::string& word) {
          if (set.MayContain(word)) found += exact_.find(word) != exact_.end();
        }));
    Use(found);

    HyphenPoints points = 0;
    seat->run_ns.push_back(
        TimePerWord(words_, settings_.hyphenation_stride,
                    [&](const std::string& word) { points ^= Hyphenate(set, word); }));
    Use(points);
  }

  HyphenPoints Hyphenate(const KeySet& set, const std::string& word) const {
    if (set.MayContain(word)) {
      const auto found = exact_.find(word);
      if (found != exact_.end()) return found->second;
    }
    return patterns_.PointsOf(word);
  }

  // Keeps the compiler from leaving out what led to the value.
  static void Use(uint64_t value) { asm volatile("" : : "r"(value) : "memory"); }

  const HyphenationSettings& settings_;
  const std::vector<std::string>& words_;
  const Patterns& patterns_;
  Run* const run_;
  ExactTable exact_;
  std::vector<std::string> keys_;
  std::vector<Candidate> candidates_;
  std::vector<Seat> seats_;
};

}  // namespace

std::vector<HyphenatedWord> AmericanExceptions() {
  const std::string directory = GroffDirectory();
  std::map<std::string, HyphenPoints> exceptions;
  for (const char* file : {"/hyphen.us", "/hyphenex.us"}) {
    for (const std::string& hyphenated : TexBlock(directory + file, "hyphenation")) {
      const HyphenatedWord word = WithoutHyphens(LowerCase(hyphenated));
      exceptions[word.word] = word.points;
    }
  }
  std::vector<HyphenatedWord> result;
  for (const auto& [word, points] : exceptions) result.push_back({word, points});
  return result;
}

Patterns::Patterns(const std::string& directory) {
  const std::string raw = directory + "/patterns.txt", prepared = directory + "/patterns.dic";
  std::ofstream file(raw);
  for (const std::string& pattern : TexBlock(GroffDirectory() + "/hyphen.us", "patterns")) {
    file << pattern << "\n";
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + raw);
  // The least numbers of letters before and after a hyphen are TeX's for American English.
  bench::RunCommand(std::string("perl ") + kPrepare + " '" + raw + "' '" + prepared + "' UTF-8 2 3 > /dev/null");
  dictionary_.reset(hnj_hyphen_load(prepared.c_str()));
  if (!dictionary_) throw std::runtime_error("libhyphen cannot load " + prepared);
}

HyphenPoints Patterns::PointsOf(const std::string& word) const {
  char marks[kMaxWordBytes + 5];  // as libhyphen asks for
  char** replacements = nullptr;  // these patterns have none, so nothing is allocated
  int *positions = nullptr, *cuts = nullptr;
  if (hnj_hyphen_hyphenate2(dictionary_.get(), word.c_str(), static_cast<int>(word.size()), marks,
                            nullptr, &replacements, &positions, &cuts) != 0) {
    return 0;
  }
  HyphenPoints points = 0;
  for (size_t i = 0; i < word.size(); i++) {
    points |= static_cast<HyphenPoints>(marks[i] & 1) << i;  // odd digits are hyphens
  }
  return points;
}

HyphenationResults MeasureSets(const HyphenationSettings& settings,
                               const std::vector<std::string>& words,
                               const std::vector<HyphenatedWord>& exceptions,
                               const Patterns& patterns, Run* run) {
  return Session(settings, words, exceptions, patterns, run).Measure();
}

}  // namespace rocksieve::experiments
