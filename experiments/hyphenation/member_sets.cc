#include "hyphenation/member_sets.h"

#include <rocksieve/filter.h>

#include <stdexcept>
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
    for (const std::string& word : words_) {
      if (word.capacity() >= sizeof(std::string) / 2) bytes += word.capacity() + 1;
    }
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

Contender Static(std::string name, Family family) {
  return {std::move(name), false, [family](const std::vector<std::string>& words, double rate) {
            return std::make_unique<StaticFilter>(family, words, rate);
          }};
}

}  // namespace

std::vector<Contender> Contenders() {
  return {{"hash table (std)", true,
           [](const std::vector<std::string>& words, double) {
             return std::make_unique<StdHashTable>(words);
           }},
          Static("rocksieve.cuckoo", Family::kCuckoo),
          Static("rocksieve.ribbon", Family::kRibbon)};
}

}  // namespace rocksieve::experiments
