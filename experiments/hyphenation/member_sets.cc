#include "experiments/hyphenation/member_sets.h"

#include <absl/container/flat_hash_set.h>
#include <rocksieve/filter.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace rocksieve::experiments {
namespace {

// One of the filters that are built once from all keys.
class StaticFilter : public KeySet {
 public:
  StaticFilter(Family family, const std::vector<std::string>& words, double rate) {
    FilterSpec spec;
    spec.family = family;
    spec.unit = FilterSpec::Unit::kFalsePositiveRate;
    spec.amount = rate;
    FilterBuilder builder(spec);
    for (const std::string& word : words) builder.AddKey(word);
    block_ = builder.Finish();
    opened_ = OpenFilter(block_.view());
    if (!opened_.filter) throw std::runtime_error(spec.ToString() + " cannot be opened");
  }
  bool Add(std::string_view) override { return false; }  // there is no room for more
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
  explicit AbslHashTable(size_t words) { words_.reserve(words); }
  bool Add(std::string_view word) override {
    words_.emplace(word);
    return true;
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

std::unique_ptr<const KeySet> Filled(std::unique_ptr<KeySet> set,
                                     const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!set->Add(word)) throw std::runtime_error("a set is full that was made for as many keys");
  }
  return set;
}

Candidate OneByOne(KeySetKind kind) {
  const bool exact = kind == KeySetKind::kHashTable || kind == KeySetKind::kCuckooTable;
  return {std::string(KeySetName(kind)), exact,
          [kind, exact](const std::vector<std::string>& words, double rate) {
            constexpr double kAnyRate = 0.01;  // exact ones must be given some
            return Filled(NewKeySet(kind, words.size(), exact ? kAnyRate : rate), words);
          }};
}

Candidate Static(std::string name, Family family) {
  return {std::move(name), false, [family](const std::vector<std::string>& words, double rate) {
            return std::make_unique<const StaticFilter>(family, words, rate);
          }};
}

}  // namespace

std::vector<Candidate> Candidates() {
  std::vector<Candidate> candidates;
  for (const KeySetKind kind : kKeySetKinds) candidates.push_back(OneByOne(kind));
  candidates.push_back(
      {"Abseil's hash table", true, [](const std::vector<std::string>& words, double) {
         return Filled(std::make_unique<AbslHashTable>(words.size()), words);
       }});
  candidates.push_back(Static("rocksieve.cuckoo", Family::kCuckoo));
  candidates.push_back(Static("rocksieve.ribbon", Family::kRibbon));
  return candidates;
}

}  // namespace rocksieve::experiments
