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

// What may stand before the exact table of exceptions, behind one indirect call.
struct KeySet {
  // True for every word of the set, and for others at that rate; 0 if it is exact.
  std::function<bool(std::string_view word)> may_contain;
  double expected_rate = 0;
  size_t memory_bytes = 0;
};

struct Candidate {
  const char* name;
  bool exact = false;  // then it knows no rate
  // Throws std::runtime_error if not all of the words find a place.
  KeySet (*make)(const std::vector<std::string>& words, double rate);
};

template <typename Set>
KeySet SetOf(std::shared_ptr<const Set> set, double expected_rate, size_t memory_bytes) {
  return {[set](std::string_view word) { return set->MayContain(word); }, expected_rate,
          memory_bytes};
}

// A filter of the toolbox.
template <typename Filter, typename Options>
KeySet OneByOne(const std::vector<std::string>& words, double rate) {
  const auto filter = std::make_shared<Filter>(Options::ForKeys(words.size(), rate));
  for (const std::string& word : words) {
    if constexpr (std::is_void_v<decltype(filter->Add(word))>) {
      filter->Add(word);
    } else if (!filter->Add(word)) {
      throw std::runtime_error("a set is full that was made for as many keys");
    }
  }
  return SetOf<Filter>(filter, filter->ExpectedFalsePositiveRate(), filter->MemoryBytes());
}

// One of the filters that are built once from all keys.
template <Family kFamily>
KeySet StaticFilter(const std::vector<std::string>& words, double rate) {
  FilterSpec spec;
  spec.family = kFamily;
  spec.unit = FilterSpec::Unit::kFalsePositiveRate;
  spec.amount = rate;
  FilterBuilder builder(spec);
  for (const std::string& word : words) builder.AddKey(word);
  const auto block = std::make_shared<FilterBlock>(builder.Finish());
  OpenedFilter opened = OpenFilter(block->view());
  if (!opened.filter) throw std::runtime_error(spec.ToString() + " cannot be opened");
  const std::shared_ptr<const Filter> filter(opened.filter.release(),
                                             [block](const Filter* old) { delete old; });
  return SetOf(filter, ExpectedFalsePositiveRate(opened.info), block->size);
}

KeySet AbslHashTable(const std::vector<std::string>& words, double) {
  const auto table = std::make_shared<absl::flat_hash_set<std::string>>(words.begin(), words.end());
  // A slot and a byte of control for each key that there could be, and strings that do not fit into
  // their slots (of libstdc++: 16 letters and more).
  size_t bytes = table->capacity() * (sizeof(std::string) + 1);
  for (const std::string& word : *table) {
    if (word.capacity() >= sizeof(std::string) / 2) bytes += word.capacity() + 1;
  }
  return {[table](std::string_view word) {
            return table->contains(absl::string_view(word.data(), word.size()));
          },
          0, bytes};
}

constexpr Candidate kCandidates[] = {
    {"Abseil's hash table", true, AbslHashTable},
    {"Bloom filter", false, OneByOne<BloomFilter, BloomFilterOptions>},
    {"cuckoo filter", false, OneByOne<CuckooFilter, CuckooFilterOptions>},
    {"rocksieve.cuckoo", false, StaticFilter<Family::kCuckoo>},
    {"rocksieve.ribbon", false, StaticFilter<Family::kRibbon>}};

using Clock = bench::CpuClock;
using ExactTable = std::unordered_map<std::string, HyphenPoints>;

// Builds at once, of which a sample of the initialisation is the mean: one is too short.
constexpr int kBuildsPerSample = 10;

struct Seat {
  const Candidate* candidate = nullptr;
  KeySet set;
  HyphenationResult result;
  std::vector<double> initialisation_us, lookup_ns, run_ns;
};

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
      patterns_ns.push_back(TimePerWord(settings_.hyphenation_stride, [&](const std::string& word) {
        return patterns_.PointsOf(word);
      }));
      no_filter_ns.push_back(TimePerWord(
          settings_.lookup_stride, [&](const std::string& word) { return exact_.count(word); }));
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
    for (const Candidate& candidate : kCandidates) {
      for (const double rate : candidate.exact ? std::vector<double>{0} : settings_.rates) {
        Seat& seat = seats_.emplace_back();
        seat.candidate = &candidate;
        seat.set = candidate.make(keys_, rate);
        seat.result.candidate = candidate.name;
        seat.result.exact = candidate.exact;
        seat.result.rate = rate;
        seat.result.expected_rate = seat.set.expected_rate;
        seat.result.memory_bytes = seat.set.memory_bytes;
      }
    }
  }

  // What does not change from repeat to repeat: the hits, and whether all comes out right.
  void CountOnce(Seat* seat) {
    run_->Begin("counting, " + seat->result.candidate);
    size_t hits = 0, false_hits = 0;
    for (const std::string& word : words_) {
      const bool hit = seat->set.may_contain(word);
      const bool exception = exact_.count(word) > 0;
      hits += hit;
      false_hits += hit && !exception;
    }
    for (const std::string& key : keys_) seat->result.lost += !seat->set.may_contain(key);
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

  void Sample(Seat* seat) const {
    KeySet built[kBuildsPerSample];  // freed outside of the time
    const double start = Clock::Nanoseconds();
    for (auto& one : built) one = seat->candidate->make(keys_, seat->result.rate);
    seat->initialisation_us.push_back((Clock::Nanoseconds() - start) / kBuildsPerSample / 1000);

    const KeySet& set = seat->set;
    seat->lookup_ns.push_back(
        TimePerWord(settings_.lookup_stride, [&](const std::string& word) -> size_t {
          return set.may_contain(word) ? exact_.count(word) : 0;
        }));
    seat->run_ns.push_back(TimePerWord(settings_.hyphenation_stride, [&](const std::string& word) {
      return Hyphenate(set, word);
    }));
  }

  HyphenPoints Hyphenate(const KeySet& set, const std::string& word) const {
    if (set.may_contain(word)) {
      const auto found = exact_.find(word);
      if (found != exact_.end()) return found->second;
    }
    return patterns_.PointsOf(word);
  }

  // Nanoseconds of body(word), over every stride-th word.
  template <typename Body>
  double TimePerWord(size_t stride, Body body) const {
    uint64_t results = 0;
    const double start = Clock::Nanoseconds();
    for (size_t i = 0; i < words_.size(); i += stride) results += body(words_[i]);
    const double took = Clock::Nanoseconds() - start;
    // Keeps the compiler from leaving out what led to them.
    asm volatile("" : : "r"(results) : "memory");
    return took / static_cast<double>((words_.size() + stride - 1) / stride);
  }

  const HyphenationSettings& settings_;
  const std::vector<std::string>& words_;
  const Patterns& patterns_;
  Run* const run_;
  ExactTable exact_;
  std::vector<std::string> keys_;
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
  bench::RunCommand(std::string("perl ") + kPrepare + " '" + raw + "' '" + prepared +
                    "' UTF-8 2 3 > /dev/null");
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
