// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/parity.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/format/coding.h"
#include "lib/hash/mix.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::pinsketch {
namespace {

// All symbols of a level in one order, by the fraction of their batch at which they stand, so that
// the window of a group is a short stretch of it.
struct MergedSymbols {
  std::vector<uint32_t> values;
  std::vector<std::vector<uint32_t>> place;  // [batch][symbol]
};

MergedSymbols Merge(std::span<const ParityBatch> batches) {
  struct Symbol {
    double fraction;
    uint32_t batch, symbol;
  };
  std::vector<Symbol> order;
  MergedSymbols merged;
  for (uint32_t b = 0; b < batches.size(); b++) {
    const size_t count = batches[b].symbols.size();
    merged.place.emplace_back(count);
    for (uint32_t s = 0; s < count; s++) {
      order.push_back({(s + 0.5) / static_cast<double>(count), b, s});
    }
  }
  if (batches.size() > 1) {
    std::sort(order.begin(), order.end(), [](const Symbol& x, const Symbol& y) {
      return x.fraction != y.fraction ? x.fraction < y.fraction : x.batch < y.batch;
    });
  }
  for (uint32_t i = 0; i < order.size(); i++) {
    merged.place[order[i].batch][order[i].symbol] = i;
    merged.values.push_back(batches[order[i].batch].symbols[order[i].symbol]);
  }
  return merged;
}

template <typename Visit>
void ForEachSymbol(const ParityRow& row, Visit visit) {
  for (uint64_t bits = row.low; bits != 0; bits &= bits - 1) {
    visit(row.first + static_cast<uint32_t>(std::countr_zero(bits)));
  }
  for (uint64_t bits = row.high; bits != 0; bits &= bits - 1) {
    visit(row.first + 64 + static_cast<uint32_t>(std::countr_zero(bits)));
  }
}

// The unknowns as rows of bits over the merged symbols, each from a word of its own on.
class BandOfRows {
 public:
  BandOfRows(std::span<const ParityBatch> batches, std::span<const uint32_t> unknown,
             const MergedSymbols& merged)
      : first_word_(unknown.size()) {
    std::vector<uint32_t> last_word(unknown.size());
    for (size_t i = 0; i < unknown.size(); i++) {
      first_word_[i] = UINT32_MAX;
      for (size_t b = 0; b < batches.size(); b++) {
        const ParityRow row = batches[b].RowOf(unknown[i]);
        first_word_[i] = std::min(first_word_[i], merged.place[b][row.first] / 64);
        last_word[i] =
            std::max(last_word[i], merged.place[b][row.first + batches[b].window - 1] / 64);
      }
      words_ = std::max(words_, size_t{last_word[i]} - first_word_[i] + 1);
    }
    bits_.assign(unknown.size() * words_, 0);
    for (size_t i = 0; i < unknown.size(); i++) {
      for (size_t b = 0; b < batches.size(); b++) {
        ForEachSymbol(batches[b].RowOf(unknown[i]), [&](uint32_t symbol) {
          const uint32_t at = merged.place[b][symbol];
          bits_[i * words_ + at / 64 - first_word_[i]] ^= uint64_t{1} << (at % 64);
        });
      }
    }
  }

  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t first_word(size_t row) const { return first_word_[row]; }

  // The first symbol of a row, or kNone. Makes its word the row's first.
  uint32_t Pivot(size_t row) {
    uint64_t* const bits = &bits_[row * words_];
    size_t skip = 0;
    while (skip < words_ && bits[skip] == 0) skip++;
    if (skip == words_) return kNone;
    if (skip > 0) {
      std::copy(bits + skip, bits + words_, bits);
      std::fill(bits + words_ - skip, bits + words_, 0);
      first_word_[row] += static_cast<uint32_t>(skip);
    }
    return first_word_[row] * 64 + static_cast<uint32_t>(std::countr_zero(bits[0]));
  }

  // REQUIRES: both begin with the same word.
  void Add(size_t from, size_t to) {
    for (size_t w = 0; w < words_; w++) bits_[to * words_ + w] ^= bits_[from * words_ + w];
  }

  template <typename Visit>
  void ForEachSymbolOf(size_t row, Visit visit) const {
    for (size_t w = 0; w < words_; w++) {
      for (uint64_t bits = bits_[row * words_ + w]; bits != 0; bits &= bits - 1) {
        visit((first_word_[row] + w) * 64 + static_cast<size_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  size_t words_ = 0;
  std::vector<uint32_t> first_word_;
  PageVector<uint64_t> bits_;
};

}  // namespace

uint32_t WindowOf(uint32_t symbols, uint32_t symbols_of_batch_0) {
  if (symbols_of_batch_0 <= kParityWindow) return std::min(symbols, kParityWindow);
  const uint64_t share =
      (uint64_t{kParityWindow} * symbols + symbols_of_batch_0 - 1) / symbols_of_batch_0;
  return static_cast<uint32_t>(std::clamp<uint64_t>(share, 1, std::min(symbols, kParityWindow)));
}

ParityBatch::ParityBatch(int the_level, int the_number, uint32_t the_groups, uint32_t symbol_count,
                         uint32_t symbols_of_batch_0)
    : level(the_level),
      number(the_number),
      groups(the_groups),
      window(symbol_count >= the_groups ? 1 : WindowOf(symbol_count, symbols_of_batch_0)),
      symbols(std::min(symbol_count, the_groups)) {}

ParityRow ParityBatch::RowOf(uint32_t group) const {
  if (IsPlain()) return {group, 1, 0};
  const uint64_t f = SplitMix64(static_cast<uint64_t>(level), group);
  const uint64_t b = static_cast<uint64_t>(number);
  ParityRow row;
  row.first = static_cast<uint32_t>(MultiplyHigh64(f, symbols.size() - window + 1));
  row.low = SplitMix64(f, 2 * b) | 1;
  row.high = SplitMix64(f, 2 * b + 1);
  if (window < 64) row.low &= (uint64_t{1} << window) - 1;
  if (window <= 64) {
    row.high = 0;
  } else if (window < 128) {
    row.high &= (uint64_t{1} << (window - 64)) - 1;
  }
  return row;
}

void ParityBatch::AddToSymbols(uint32_t group, uint32_t sum) {
  if (sum == 0) return;
  const ParityRow row = RowOf(group);
  if (IsPlain()) {
    symbols[row.first] ^= sum;
    return;
  }
  // Four symbols at a time, whether they get it or not: every compiler for every architecture has
  // such vectors. Clang heeds an alignment only behind the name.
  using Vector __attribute__((aligned(4), may_alias)) = uint32_t __attribute__((vector_size(16)));
  static constexpr uint32_t kAll = ~uint32_t{0};
  static constexpr uint32_t kMasks[16][4] = {
      {0, 0, 0, 0},       {kAll, 0, 0, 0},       {0, kAll, 0, 0},       {kAll, kAll, 0, 0},
      {0, 0, kAll, 0},    {kAll, 0, kAll, 0},    {0, kAll, kAll, 0},    {kAll, kAll, kAll, 0},
      {0, 0, 0, kAll},    {kAll, 0, 0, kAll},    {0, kAll, 0, kAll},    {kAll, kAll, 0, kAll},
      {0, 0, kAll, kAll}, {kAll, 0, kAll, kAll}, {0, kAll, kAll, kAll}, {kAll, kAll, kAll, kAll}};
  uint32_t* const begin = &symbols[row.first];
  const Vector sums = {sum, sum, sum, sum};
  uint32_t i = 0;
  for (; i + 4 <= window; i += 4) {
    const uint64_t bits = (i < 64 ? row.low : row.high) >> (i % 64) & 15;
    *reinterpret_cast<Vector*>(begin + i) ^= *reinterpret_cast<const Vector*>(kMasks[bits]) & sums;
  }
  for (; i < window; i++) {
    if (((i < 64 ? row.low : row.high) >> (i % 64) & 1) != 0) begin[i] ^= sum;
  }
}

ParityResult SolveLevel(std::span<const ParityBatch> all_batches, std::span<const uint32_t> unknown,
                        std::vector<uint32_t>* sums) {
  // The windows of a batch that is much smaller than another would make the band too wide.
  size_t largest = 0;
  for (const ParityBatch& batch : all_batches) largest = std::max(largest, batch.symbols.size());
  std::vector<ParityBatch> batches;
  for (const ParityBatch& batch : all_batches) {
    if (batch.symbols.size() >= largest / kSmallestShare) batches.push_back(batch);
  }
  sums->assign(unknown.size(), 0);
  for (const ParityBatch& batch : batches) {
    if (!batch.IsPlain()) continue;
    for (size_t i = 0; i < unknown.size(); i++) (*sums)[i] = batch.symbols[unknown[i]];
    return ParityResult::kSolved;
  }
  MergedSymbols merged = Merge(batches);
  if (merged.values.size() < unknown.size()) return ParityResult::kTooFew;
  BandOfRows rows(batches, unknown, merged);
  std::vector<size_t> order(unknown.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return rows.first_word(a) != rows.first_word(b) ? rows.first_word(a) < rows.first_word(b)
                                                    : a < b;
  });
  // Elimination among the unknowns: each comes to own the symbol at which its row begins. Adding
  // row p to row x means that the unknown p is replaced by p + x.
  constexpr uint32_t kFree = UINT32_MAX;
  std::vector<uint32_t> owner(merged.values.size() + 64, kFree);
  std::vector<std::pair<uint32_t, uint32_t>> additions;  // x, p
  for (size_t x : order) {
    for (;;) {
      const uint32_t pivot = rows.Pivot(x);
      if (pivot == BandOfRows::kNone) return ParityResult::kTooFew;
      if (owner[pivot] == kFree) {
        owner[pivot] = static_cast<uint32_t>(x);
        break;
      }
      rows.Add(owner[pivot], x);
      additions.emplace_back(static_cast<uint32_t>(x), owner[pivot]);
    }
  }
  for (size_t symbol = 0; symbol < merged.values.size(); symbol++) {
    const uint32_t value = merged.values[symbol];
    if (owner[symbol] == kFree) {
      if (value != 0) return ParityResult::kContradiction;
      continue;
    }
    (*sums)[owner[symbol]] = value;
    if (value == 0) continue;
    rows.ForEachSymbolOf(owner[symbol], [&](size_t at) { merged.values[at] ^= value; });
  }
  for (size_t i = additions.size(); i-- > 0;) {
    (*sums)[additions[i].second] ^= (*sums)[additions[i].first];
  }
  return ParityResult::kSolved;
}

uint32_t SymbolsForKnown(double unknowns) {
  return static_cast<uint32_t>(std::ceil(1.04 * unknowns + 0.5 * std::sqrt(unknowns) + 8));
}

uint32_t SymbolsForExpected(double unknowns) {
  return static_cast<uint32_t>(std::ceil(1.04 * unknowns + 3 * std::sqrt(unknowns) + 5));
}

}  // namespace rocksieve::pinsketch
