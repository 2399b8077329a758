// SPDX-License-Identifier: Apache-2.0
#include "experiments/any_prefix/context_model.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::experiments {
namespace {

using Counts = std::unordered_map<Symbol, uint64_t>;

// The `order` bytes before `at`, zeros before the beginning, the nearest one lowest.
uint32_t ContextAt(std::string_view text, size_t at, size_t order) {
  uint32_t context = 0;
  for (size_t back = order; back >= 1; back--) {
    context = context << 8 | (at >= back ? static_cast<uint8_t>(text[at - back]) : 0);
  }
  return context;
}

double SavedBits(const Counts& counts, const Distribution& longer, const Distribution& shorter) {
  double saved = 0;
  for (const auto& [symbol, count] : counts) {
    saved +=
        static_cast<double>(count) * (shorter.PartOf(symbol).bits() - longer.PartOf(symbol).bits());
  }
  return saved;
}

}  // namespace

double Distribution::Part::bits() const {
  static const std::vector<double> bits = [] {
    std::vector<double> of_sizes(kTotal + 1);
    for (uint32_t i = 1; i <= kTotal; i++) of_sizes[i] = kTotalBits - std::log2(i);
    return of_sizes;
  }();
  return bits[size];
}

Distribution::Distribution(const Counts& counts) {
  double all = 0;
  for (const auto& [symbol, count] : counts) {
    symbols_.push_back(symbol);
    all += static_cast<double>(count);
  }
  std::sort(symbols_.begin(), symbols_.end());
  std::vector<double> shares;
  double sum = 0;
  for (const Symbol symbol : symbols_) {
    const double halves =
        std::min(31.0, std::round(-2 * std::log2(static_cast<double>(counts.at(symbol)) / all)));
    shares.push_back(std::exp2(-halves / 2));
    sum += shares.back();
  }
  std::vector<uint32_t> sizes;
  uint32_t total = 0;
  for (const double share : shares) {
    sizes.push_back(std::max(1U, static_cast<uint32_t>(share / sum * kTotal)));
    total += sizes.back();
  }
  // Rounding is the most frequent one's gain or loss.
  *std::max_element(sizes.begin(), sizes.end()) += kTotal - total;
  uint32_t begin = 0;
  for (const uint32_t size : sizes) {
    begins_.push_back(begin);
    begin += size;
  }
  begins_.push_back(begin);
}

Distribution::Part Distribution::PartOf(Symbol symbol) const {
  const auto found = std::lower_bound(symbols_.begin(), symbols_.end(), symbol);
  const auto i = static_cast<size_t>(found - symbols_.begin());
  if (found == symbols_.end() || *found != symbol) {
    return {i < symbols_.size() ? begins_[i] : kTotal, 0};
  }
  return {begins_[i], begins_[i + 1] - begins_[i]};
}

Symbol Distribution::SymbolAtPlace(uint32_t place, Part* part) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), place);
  const auto i = static_cast<size_t>(after - begins_.begin()) - 1;
  *part = {begins_[i], begins_[i + 1] - begins_[i]};
  return symbols_[i];
}

ContextModel::ContextModel(const std::vector<std::string>& sorted, double worth) {
  std::unordered_map<uint32_t, Counts> counts[kMostOrder + 1];
  std::string_view before;
  for (const std::string& text : sorted) {
    for (size_t at = CommonBytes(before, text); at <= text.size(); at++) {
      for (size_t order = 0; order <= kMostOrder; order++) {
        counts[order][ContextAt(text, at, order)][SymbolAt(text, at)]++;
      }
    }
    before = text;
  }
  // The longest context that is kept of any that ends so.
  std::unordered_map<uint32_t, uint32_t> kept[kMostOrder + 1];
  if (counts[0].empty()) counts[0][0][kEndSymbol] = 1;
  bits_per_symbol_ =
      static_cast<uint64_t>(std::ceil(std::log2(static_cast<double>(counts[0][0].size() + 1))));
  for (size_t order = 0; order <= kMostOrder; order++) {
    for (const auto& [context, its_counts] : counts[order]) {
      Distribution longer(its_counts);
      // Its first character, how many symbols it has, and these.
      const uint64_t bits = 2 * bits_per_symbol_ +
                            longer.symbols() * (bits_per_symbol_ + Distribution::kBitsPerFrequency);
      if (order > 0) {
        const uint32_t shorter = kept[order - 1].at(context & ((1U << 8 * (order - 1)) - 1));
        if (worth * SavedBits(its_counts, longer, distributions_[shorter]) <=
            static_cast<double>(bits)) {
          kept[order][context] = shorter;
          continue;
        }
      }
      kept[order][context] = static_cast<uint32_t>(distributions_.size());
      distributions_.push_back(std::move(longer));
      size_bits_ += bits;
    }
  }
  of_two_.assign(1 << 16, kept[0].at(0));
  for (const auto& [context, distribution] : kept[1]) {
    for (uint32_t first = 0; first < 256; first++) of_two_[first << 8 | context] = distribution;
  }
  for (const auto& [context, distribution] : kept[2]) of_two_[context] = distribution;
  has_longer_.assign(1 << 16, false);
  for (const auto& [context, distribution] : kept[3]) {
    if (distribution == of_two_[context & 0xffff]) continue;
    of_three_[context] = distribution;
    has_longer_[context & 0xffff] = true;
  }
}

ContextModel ContextModel::Within(const std::vector<std::string>& sorted, double worth,
                                  double most_bits) {
  for (; worth > 0.01; worth /= 2) {
    ContextModel model(sorted, worth);
    if (static_cast<double>(model.size_bits()) <= most_bits) return model;
  }
  return ContextModel(sorted, 0);
}

const Distribution& ContextModel::After(std::string_view text, size_t at) const {
  const uint32_t two = ContextAt(text, at, 2);
  if (has_longer_[two]) {
    const auto found = of_three_.find(ContextAt(text, at, 3));
    if (found != of_three_.end()) return distributions_[found->second];
  }
  return distributions_[of_two_[two]];
}

size_t CommonBytes(std::string_view a, std::string_view b) {
  const auto ends = std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin());
  return static_cast<size_t>(ends.first - a.begin());
}

}  // namespace rocksieve::experiments
