// SPDX-License-Identifier: Apache-2.0
// Keys as numbers whose order is that of the keys and which are nearly uniform: an arithmetic code
// by a static model of contexts; of each number the first bits, as a sorted set in Elias-Fano code.
// A prefix is a range of numbers, asked whether one of the set lies there.
//
// Source of the idea: H. Zhang and others, "Order-preserving key compression for in-memory search
// trees" (HOPE), 2020, which has dictionaries and a Hu-Tucker code in the place of the model. As
// the codes are nearly uniform, they need no hash to be spread (Grafite, 2024), and the order is
// kept for ranges of any length.
#include <algorithm>
#include <cmath>

#include "experiments/any_prefix/bit_vector.h"
#include "experiments/any_prefix/context_model.h"
#include "experiments/any_prefix/prefix_filter.h"

namespace rocksieve::experiments {
namespace {

using Number = unsigned __int128;

constexpr int kCodeBits = 62, kMoreBits = 64;  // these are not kept, but make intervals narrower
constexpr Number kWhole = Number{1} << (kCodeBits + kMoreBits);
constexpr Number kLeastWidth = Number{1} << 20;  // no narrower interval is divided

// Numbers from first on, none if width is 0.
struct Interval {
  Number first = 0, width = kWhole;
};

class OrderedCode : public PrefixFilter {
 public:
  OrderedCode(const SortedKeys& keys, double bits_per_key)
      : model_(ContextModel::Within(
            keys, 0.6, kModelShare * bits_per_key * static_cast<double>(keys.size()))) {
    const double budget = bits_per_key * static_cast<double>(keys.size()) -
                          static_cast<double>(model_.size_bits()) - 64;
    std::vector<uint64_t> codes;
    for (const std::string& key : keys) {
      codes.push_back(CodeOf(IntervalOf(key, true).first));
    }
    // The largest universe that the budget affords: fewer codes are distinct in small ones.
    double low = 0, high = kCodeBits;  // its logarithm
    for (int step = 0; step < 30; step++) {
      const double middle = (low + high) / 2;
      universe_ = static_cast<uint64_t>(std::exp2(middle));
      uint64_t distinct = 0, before = ~uint64_t{0};
      for (const uint64_t code : codes) {
        const uint64_t cell = CellOf(code);
        distinct += cell != before;
        before = cell;
      }
      const double bits =
          EliasFano::BitsFor(static_cast<double>(distinct), static_cast<double>(universe_));
      (bits <= budget ? low : high) = middle;
    }
    universe_ = static_cast<uint64_t>(std::exp2(low));
    for (uint64_t& code : codes) code = CellOf(code);
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    cells_ = EliasFano(codes, universe_);
  }

  bool MayHavePrefix(std::string_view prefix) const override {
    const Interval interval = IntervalOf(prefix, false);
    return interval.width > 0 &&
           cells_.AnyBetween(CellOf(CodeOf(interval.first)),
                             CellOf(CodeOf(interval.first + interval.width - 1)));
  }
  bool MayHaveRange(std::string_view begin, std::string_view end) const override {
    const uint64_t last = CellOf(CodeOf(IntervalOf(end, true).first));
    const uint64_t first = CellOf(CodeOf(IntervalOf(begin, true).first));
    return first <= last && cells_.AnyBetween(first, last);
  }
  uint64_t size_bits() const override { return model_.size_bits() + 64 + cells_.size_bits(); }

 private:
  static uint64_t CodeOf(Number number) { return static_cast<uint64_t>(number >> kMoreBits); }
  uint64_t CellOf(uint64_t code) const {
    return static_cast<uint64_t>(static_cast<Number>(code) * universe_ >> kCodeBits);
  }

  // Of all strings that begin so; `whole`: of this string alone. Strings that cannot be told from
  // one another within the least width have the same.
  Interval IntervalOf(std::string_view text, bool whole) const {
    Interval interval;
    for (size_t at = 0; at < text.size() + (whole ? 1 : 0); at++) {
      if (interval.width < kLeastWidth) break;
      const Number unit = interval.width >> Distribution::kTotalBits;
      const Distribution::Part part = model_.After(text, at).PartOf(SymbolAt(text, at));
      interval.first += unit * part.begin;
      interval.width = unit * part.size;
      if (part.size == 0) break;
    }
    return interval;
  }

  ContextModel model_;
  uint64_t universe_ = 1;
  EliasFano cells_;
};

}  // namespace

std::unique_ptr<PrefixFilter> BuildOrderedCode(const SortedKeys& keys, double bits_per_key) {
  return std::make_unique<OrderedCode>(keys, bits_per_key);
}

}  // namespace rocksieve::experiments
