// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/lookup_weights.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <numeric>

#include "lib/budget/lookup_density.h"
#include "lib/range/cells.h"

namespace rocksieve {
namespace {

// More would be lost in rounding.
constexpr size_t kMaxDigits = 12;
constexpr uint64_t kWhole = uint64_t{1} << 63, kSmallestUnit = 9000;

using ByteSet = std::bitset<256>;

ByteSet BytesOf(std::string_view from_to_pairs) {
  ByteSet set;
  for (size_t i = 0; i + 1 < from_to_pairs.size(); i += 2) {
    for (int byte = from_to_pairs[i]; byte <= from_to_pairs[i + 1]; byte++) set.set(byte);
  }
  return set;
}

// The smallest of the usual alphabets that holds all of them, else every byte.
ByteSet AlphabetOf(const ByteSet& seen) {
  static const ByteSet alphabets[] = {BytesOf("09"),   BytesOf("09af"),   BytesOf("09AF"),
                                      BytesOf("az"),   BytesOf("AZ"),     BytesOf("09az"),
                                      BytesOf("09AZ"), BytesOf("09AZaz"), BytesOf(" ~")};
  for (const ByteSet& alphabet : alphabets) {
    if ((seen & ~alphabet).none()) return alphabet;
  }
  return ByteSet().set();
}

}  // namespace

KeyScale::KeyScale(const std::vector<std::string_view>& sample) {
  if (sample.empty()) return;
  const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
  prefix_size_ = range::CommonPrefix(*least, *most);
  std::array<std::array<bool, 256>, kMaxDigits> occurs = {};
  size_t shortest = sample.front().size();
  for (const std::string_view key : sample) {
    shortest = std::min(shortest, key.size());
    const size_t digits = std::min(kMaxDigits, key.size() - prefix_size_);
    for (size_t i = 0; i < digits; i++) {
      occurs[i][static_cast<uint8_t>(key[prefix_size_ + i])] = true;
    }
  }
  // Whole numbers, so that all later digits together never weigh more than one step of a digit.
  uint64_t unit = kWhole;
  for (size_t i = 0; i < kMaxDigits && unit > kSmallestUnit; i++) {
    ByteSet seen;
    for (int byte = 0; byte < 256; byte++) seen[byte] = occurs[i][byte];
    const bool some_end = shortest <= prefix_size_ + i;
    if (seen.none()) break;
    // A byte that is the same in all keys separates nothing.
    const ByteSet alphabet = seen.count() == 1 ? seen : AlphabetOf(seen);
    // An ended key sorts before all others, which takes a value of its own.
    uint8_t value = some_end ? 1 : 0;
    Digit digit;
    for (int byte = 0; byte < 256; byte++) {
      digit.value[byte] = value;
      if (alphabet[byte] && value < 255) value++;
    }
    const size_t base = alphabet.count() + (some_end ? 1 : 0);
    unit /= base;
    digit.unit = unit;
    digits_.push_back(digit);
  }
}

double KeyScale::PositionOf(std::string_view key) const {
  uint64_t position = 0;
  for (size_t i = 0; i < digits_.size() && prefix_size_ + i < key.size(); i++) {
    position += digits_[i].unit * digits_[i].value[static_cast<uint8_t>(key[prefix_size_ + i])];
  }
  return static_cast<double>(position) / static_cast<double>(kWhole);
}

namespace {

// Lookups in all cells before each, given the entries.
std::vector<double> LookupsBefore(const KeyCells& cells, const std::vector<double>& entries_before,
                                  const LookupDensity& density) {
  std::vector<double> before(1, 0);
  before.reserve(entries_before.size());
  double begin = 0, end = 0;
  for (size_t cell = 0; cell < cells.count(); cell++) {
    // Cells of no width, and those between them, in turn: each key is looked at once.
    const bool is_key = cell % 2 == 0;
    begin = end;
    if (cell == 0) begin = end = density.PlaceOf(cells.first_key(0));
    if (!is_key) end = density.PlaceOf(cells.last_key(cell));
    const double entries = entries_before[cell + 1] - entries_before[cell];
    before.push_back(before.back() + entries * density.Between(begin, end));
  }
  return before;
}

std::vector<double> WeightsOf(const KeyCells& cells, const std::vector<BudgetedFile>& files,
                              const std::vector<double>& entries_before,
                              const std::vector<double>& lookups_before) {
  const double total = lookups_before.back();
  std::vector<double> shares;
  shares.reserve(files.size());
  for (size_t i = 0; i < files.size(); i++) {
    const CellRange range = cells.RangeOf(i);
    const double entries = entries_before[range.last] - entries_before[range.first];
    const double lookups = lookups_before[range.last] - lookups_before[range.first];
    // Rounding apart, no file has more entries than there are in its range.
    const auto own = static_cast<double>(files[i].entries);
    const double inside = entries > 0 ? std::max(1.0, own / entries) * lookups : own;
    shares.push_back(total > 0 ? std::min(inside / total, 1.0) : 0);
  }
  return shares;
}

}  // namespace

std::vector<double> LookupWeights(const std::vector<BudgetedFile>& files) {
  const KeyCells cells(files);
  const std::vector<double> entries = cells.EntriesBefore(files);
  return WeightsOf(cells, files, entries, entries);
}

BothLookupWeights LookupWeightsBothWays(const std::vector<BudgetedFile>& files,
                                        const LookupDensity& density) {
  const KeyCells cells(files);
  const std::vector<double> entries = cells.EntriesBefore(files);
  return {WeightsOf(cells, files, entries, entries),
          WeightsOf(cells, files, entries, LookupsBefore(cells, entries, density))};
}

namespace {

// Of a file's entries, the share that is spread over its cells evenly.
constexpr double kEvenShare = 0.1;

// The smallest and the largest key of each file.
std::vector<std::string_view> EndsOf(const std::vector<BudgetedFile>& files) {
  std::vector<std::string_view> ends;
  ends.reserve(2 * files.size());
  for (const BudgetedFile& file : files) {
    const auto [low, high] = std::minmax(file.smallest, file.largest);
    ends.insert(ends.end(), {low, high});
  }
  return ends;
}

// Which of the keys comes first, and so on: into as many buckets of positions as there are keys
// first, which is quick since a scale spreads keys over all positions.
std::vector<uint32_t> OrderOf(const std::vector<std::string_view>& keys,
                              const std::vector<double>& positions) {
  const auto buckets = static_cast<double>(keys.size());
  const auto bucket_of = [&](double position) {
    return std::min(static_cast<size_t>(position * buckets), keys.size() - 1);
  };
  std::vector<uint32_t> bucket_ends(keys.size() + 1);
  for (const double position : positions) bucket_ends[bucket_of(position) + 1]++;
  std::partial_sum(bucket_ends.begin(), bucket_ends.end(), bucket_ends.begin());
  std::vector<uint32_t> order(keys.size());
  for (uint32_t i = 0; i < keys.size(); i++) order[bucket_ends[bucket_of(positions[i])]++] = i;
  // By now each bucket begins where the one before it ends. Positions keep the order of keys, and
  // are quicker to compare.
  const auto before = [&](uint32_t a, uint32_t b) {
    return positions[a] != positions[b] ? positions[a] < positions[b] : keys[a] < keys[b];
  };
  uint32_t begin = 0;
  for (const uint32_t end : bucket_ends) {
    if (end > begin + 1) std::sort(order.begin() + begin, order.begin() + end, before);
    begin = end;
  }
  return order;
}

}  // namespace

KeyCells::KeyCells(const std::vector<BudgetedFile>& files)
    : ends_(EndsOf(files)), scale_(ends_), ranges_(files.size()) {
  std::vector<double> positions;
  positions.reserve(ends_.size());
  for (const std::string_view key : ends_) positions.push_back(scale_.PositionOf(key));
  positions_.reserve(ends_.size());
  keys_.reserve(ends_.size());
  for (const uint32_t i : OrderOf(ends_, positions)) {
    if (keys_.empty() || positions[i] != positions_.back() || ends_[i] != ends_[keys_.back()]) {
      positions_.push_back(positions[i]);
      keys_.push_back(i);
    }
    const size_t cell = 2 * (keys_.size() - 1);
    CellRange& range = ranges_[i / 2];
    (i % 2 == 0 ? range.first : range.last) = cell + i % 2;
  }
}

std::vector<double> KeyCells::EntriesBefore(const std::vector<BudgetedFile>& files) const {
  // How the sums over the files that cover a cell change from one to the next.
  std::vector<double> per_cell(count() + 1), per_width(count() + 1);
  for (size_t i = 0; i < files.size(); i++) {
    const CellRange range = RangeOf(i);
    const double width = WidthOf(range);
    const auto entries = static_cast<double>(files[i].entries);
    const double even =
        entries * (width > 0 ? kEvenShare : 1) / static_cast<double>(range.last - range.first);
    per_cell[range.first] += even;
    per_cell[range.last] -= even;
    if (width <= 0) continue;
    const double by_width = entries * (1 - kEvenShare) / width;
    per_width[range.first] += by_width;
    per_width[range.last] -= by_width;
  }
  std::vector<double> before(1, 0);
  before.reserve(count() + 1);
  double even = 0, by_width = 0;
  for (size_t cell = 0; cell < count(); cell++) {
    even += per_cell[cell];
    by_width += per_width[cell];
    before.push_back(before.back() + std::max(0.0, even + by_width * width(cell)));
  }
  return before;
}

}  // namespace rocksieve
