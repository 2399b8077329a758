#include "hyphenation/member_sets.h"

#include <absl/container/flat_hash_set.h>
#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/cuckoo_filter.h>
#include <rocksieve/filter.h>

#include <stdexcept>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace rocksieve::experiments {
namespace {

// One of the filters that are built once from all keys.
class StaticFilter : public MemberSet {
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
  bool MayContain(std::string_view word) const override { return opened_.filter->MayContain(word); }
  size_t MemoryBytes() const override { return block_.size; }
  double ExpectedRate() const override { return ExpectedFalsePositiveRate(opened_.info); }

 private:
  FilterBlock block_;
  OpenedFilter opened_;
};

// One of the filters that take their keys one by one.
template <typename Filter, typename Options>
class DynamicFilter : public MemberSet {
 public:
  DynamicFilter(const std::vector<std::string>& words, double rate)
      : filter_(Options::ForKeys(words.size(), rate)) {
    for (const std::string& word : words) {
      if constexpr (std::is_void_v<decltype(filter_.Add(word))>) {
        filter_.Add(word);
      } else if (!filter_.Add(word)) {
        throw std::runtime_error("a filter is full that was made for as many keys");
      }
    }
  }
  bool MayContain(std::string_view word) const override { return filter_.MayContain(word); }
  size_t MemoryBytes() const override { return filter_.MemoryBytes(); }
  double ExpectedRate() const override { return filter_.ExpectedFalsePositiveRate(); }

 private:
  Filter filter_;
};

size_t OutsideBytes(const std::string& word) {
  const bool inside = word.capacity() < sizeof(std::string) / 2;  // libstdc++: up to 15 letters
  return inside ? 0 : word.capacity() + 1;
}

class StdHashTable : public MemberSet {
 public:
  explicit StdHashTable(const std::vector<std::string>& words)
      : words_(words.begin(), words.end()) {}
  bool MayContain(std::string_view word) const override {
    return words_.find(word) != words_.end();
  }
  // Of libstdc++: an array of pointers, and nodes of a pointer, a string and its hash. The
  // allocator's own bytes are not counted.
  size_t MemoryBytes() const override {
    size_t bytes = words_.bucket_count() * sizeof(void*) +
                   words_.size() * (sizeof(void*) + sizeof(std::string) + sizeof(size_t));
    for (const std::string& word : words_) bytes += OutsideBytes(word);
    return bytes;
  }
  double ExpectedRate() const override { return 0; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> words_;
};

class AbslHashTable : public MemberSet {
 public:
  explicit AbslHashTable(const std::vector<std::string>& words)
      : words_(words.begin(), words.end()) {}
  bool MayContain(std::string_view word) const override {
    return words_.contains(absl::string_view(word.data(), word.size()));
  }
  // A slot and a byte of control for each key that there could be.
  size_t MemoryBytes() const override {
    size_t bytes = words_.capacity() * (sizeof(std::string) + 1);
    for (const std::string& word : words_) bytes += OutsideBytes(word);
    return bytes;
  }
  double ExpectedRate() const override { return 0; }

 private:
  absl::flat_hash_set<std::string> words_;
};

template <typename Set>
Contender Exact(std::string name) {
  return {std::move(name), true, [](const std::vector<std::string>& words, double) {
            return std::make_unique<Set>(words);
          }};
}

template <typename Set>
Contender WithRate(std::string name) {
  return {std::move(name), false, [](const std::vector<std::string>& words, double rate) {
            return std::make_unique<Set>(words, rate);
          }};
}

Contender Static(std::string name, Family family) {
  return {std::move(name), false, [family](const std::vector<std::string>& words, double rate) {
            return std::make_unique<StaticFilter>(family, words, rate);
          }};
}

}  // namespace

std::vector<Contender> Contenders() {
  return {Exact<StdHashTable>("hash table (std)"),
          Exact<AbslHashTable>("hash table (absl)"),
          WithRate<DynamicFilter<BloomFilter, BloomFilterOptions>>("Bloom filter"),
          WithRate<DynamicFilter<CuckooFilter, CuckooFilterOptions>>("cuckoo filter"),
          Static("rocksieve.cuckoo", Family::kCuckoo),
          Static("rocksieve.ribbon", Family::kRibbon)};
}

}  // namespace rocksieve::experiments
