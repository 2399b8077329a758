// SPDX-License-Identifier: Apache-2.0
// Every distinct prefix of every key, hashed, in one filter: any length is known. Asked for a
// prefix, all shorter ones are asked too, since they must be there as well (Rosetta, S. Luo and
// others, 2020, does so for bits of numbers).
//
// With a model, prefixes get different numbers of bits: an absent one is asked for with probability
// r and one that could be asked for is present with probability m; then the least rate for a given
// size has 2^-bits proportional to m / (r (1 - m)) (J. Bruck, J. Gao, A. Jiang, "Weighted Bloom
// filter", 2006). m is what the characters before say of the next; r that of a random character
// after a random key's beginning. A prefix that is as good as certain gets no bits at all, and
// costs none; an unlikely one gets many, but there are few.
#include <algorithm>
#include <cmath>

#include "experiments/any_prefix/bit_ribbon.h"
#include "experiments/any_prefix/context_model.h"
#include "experiments/any_prefix/prefix_filter.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"

namespace rocksieve::experiments {
namespace {

constexpr uint64_t kSeed = 2020;
constexpr double kMostBits = 20;
constexpr size_t kMostDepth = 256;
constexpr uint64_t kBitsPerDepth = 8;
constexpr double kNever = -1000;  // as a weight: no key has it

// The next whole number, or the one below, by the hash.
uint32_t WholeBits(double bits, uint64_t hash) {
  const double clipped = std::clamp(bits, 0.0, kMostBits);
  const double chance = static_cast<double>(Mix64(hash) >> 11) * 0x1p-53;
  return static_cast<uint32_t>(clipped + chance);
}

class HashedPrefixes : public PrefixFilter {
 public:
  HashedPrefixes(const SortedKeys& keys, double bits_per_key, bool weighted) {
    uint64_t used = 64;
    if (weighted) {
      model_ = std::make_unique<ContextModel>(ContextModel::Within(
          keys, kWorth, kModelShare * bits_per_key * static_cast<double>(keys.size())));
      used += model_->size_bits();
    }
    struct Prefix {
      uint64_t hash;
      float weight;
    };
    std::vector<Prefix> prefixes;
    if (weighted) WeighDepths(keys, &used);
    ForEachPrefix(keys, [&](std::string_view prefix) {
      prefixes.push_back({HashOf(prefix), static_cast<float>(WeightOf(prefix))});
    });
    const double budget =
        (bits_per_key * static_cast<double>(keys.size()) - static_cast<double>(used)) /
        (1 + BitRibbon::kSpare);
    double low = -40, high = 40;
    for (int step = 0; step < 40; step++) {
      level_ = (low + high) / 2;
      double bits = 128;
      for (const Prefix& prefix : prefixes) bits += WholeBits(level_ + prefix.weight, prefix.hash);
      (bits <= budget ? low : high) = level_;
    }
    level_ = low;
    std::vector<BitRibbon::Entry> entries;
    for (const Prefix& prefix : prefixes) {
      const uint32_t bits = WholeBits(level_ + prefix.weight, prefix.hash);
      if (bits > 0) entries.push_back({prefix.hash, bits, 0});
    }
    ribbon_.Build(entries);
    size_bits_ = used + ribbon_.size_bits();
  }

  bool MayHavePrefix(std::string_view prefix) const override {
    for (size_t length = prefix.size(); length > 0; length--) {
      if (!MayHave(prefix.substr(0, length))) return false;
    }
    return true;
  }

  uint64_t size_bits() const override { return size_bits_; }

 private:
  // Contexts save less than an exact code would: most prefixes have few bits or none.
  static constexpr double kWorth = 0.4;

  template <typename Function>
  static void ForEachPrefix(const SortedKeys& keys, Function function) {
    std::string_view before;
    for (const std::string& key : keys) {
      for (size_t length = CommonBytes(before, key) + 1; length <= key.size(); length++) {
        function(std::string_view(key).substr(0, length));
      }
      before = key;
    }
  }

  static uint64_t HashOf(std::string_view prefix) { return HashKey(prefix, kSeed); }

  // Keys per distinct prefix, and how often characters come anywhere.
  void WeighDepths(const SortedKeys& keys, uint64_t* used) {
    std::vector<uint64_t> distinct(kMostDepth), longer(kMostDepth);
    std::unordered_map<Symbol, uint64_t> counts;
    ForEachPrefix(keys, [&](std::string_view prefix) { distinct[prefix.size()]++; });
    for (const std::string& key : keys) {
      for (size_t length = 1; length <= key.size(); length++) {
        longer[length]++;
        counts[SymbolAt(key, length - 1)]++;
      }
    }
    of_depth_.assign(kMostDepth, 0);
    size_t depths = 0;
    for (size_t depth = 1; depth < kMostDepth; depth++) {
      if (distinct[depth] == 0) continue;
      depths = depth;
      // In eighths, as it would be stored. Queries at this depth come from the depth above.
      const uint64_t above = depth == 1 ? 1 : distinct[depth - 1];
      of_depth_[depth] =
          static_cast<float>(std::round(8 * std::log2(static_cast<double>(longer[depth]) /
                                                      static_cast<double>(above))) /
                             8);
    }
    any_ = Distribution(counts);
    *used += depths * kBitsPerDepth + any_.symbols() * (8 + Distribution::kBitsPerFrequency);
  }

  // The logarithm of r (1 - m) / m.
  double WeightOf(std::string_view prefix) const {
    if (model_ == nullptr || prefix.size() >= kMostDepth) return 0;
    const Symbol symbol = SymbolAt(prefix, prefix.size() - 1);
    const uint32_t present = model_->After(prefix, prefix.size() - 1).PartOf(symbol).size;
    if (present == 0) return kNever;
    const double m = std::min(0.98, static_cast<double>(present) / Distribution::kTotal);
    // Half of the queries are like keys.
    const double r = (static_cast<double>(any_.PartOf(symbol).size) / Distribution::kTotal + m) / 2;
    return of_depth_[prefix.size()] + std::log2(r * (1 - m) / m);
  }

  bool MayHave(std::string_view prefix) const {
    const double weight = WeightOf(prefix);
    if (weight == kNever) return false;
    const uint64_t hash = HashOf(prefix);
    const uint32_t bits = WholeBits(level_ + static_cast<float>(weight), hash);
    return bits == 0 || ribbon_.AreZero(hash, bits);
  }

  std::unique_ptr<ContextModel> model_;
  std::vector<float> of_depth_;
  Distribution any_;
  double level_ = 0;
  BitRibbon ribbon_;
  uint64_t size_bits_ = 0;
};

}  // namespace

std::unique_ptr<PrefixFilter> BuildEveryPrefix(const SortedKeys& keys, double bits_per_key) {
  return std::make_unique<HashedPrefixes>(keys, bits_per_key, false);
}

std::unique_ptr<PrefixFilter> BuildWeightedPrefixes(const SortedKeys& keys, double bits_per_key) {
  return std::make_unique<HashedPrefixes>(keys, bits_per_key, true);
}

}  // namespace rocksieve::experiments
