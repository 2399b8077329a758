// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/decoder.h"

#include <algorithm>

namespace rocksieve::pinsketch {

bool Decoder::Decode(std::span<const uint32_t> sums, std::span<const CellEntry> likely,
                     std::vector<uint32_t>* ids) {
  ids->clear();
  if (std::all_of(sums.begin(), sums.end(), [](uint32_t sum) { return sum == 0; })) return true;
  const int length = ShortestRegister(sums);
  const size_t degree = static_cast<size_t>(length);
  // The locator, the product of (1 - id x), has the inverse ids as roots; reversed, the ids. Its
  // degree must be the length: then the roots, being distinct, explain all the sums.
  if (length < 1 || degree > sums.size() || locator_[degree] == 0) return false;
  reversed_.resize(degree + 1);
  for (size_t i = 0; i <= degree; i++) reversed_[degree - i] = locator_[i];
  if (!roots_.Find(reversed_, likely, ids)) return false;
  std::sort(ids->begin(), ids->end());
  return true;
}

// Fills locator_ and returns the register's length, or -1 once that exceeds the number of sums.
int Decoder::ShortestRegister(std::span<const uint32_t> sums) {
  const size_t t = sums.size();
  log_sums_.resize(2 * t + 1);
  for (size_t j = 0; j < t; j++) log_sums_[2 * j + 1] = field_.Log(sums[j]);
  for (size_t power = 2; power <= 2 * t; power += 2) {
    const uint32_t log_root = log_sums_[power / 2];
    const bool is_zero = log_root == field_.Log(0);
    log_sums_[power] = is_zero ? log_root : field_.ReduceOnce(2 * log_root);
  }
  locator_.assign(t + 2, 0);
  previous_.assign(t + 2, 0);
  locator_[0] = previous_[0] = 1;
  size_t length = 0, shift = 1;
  uint32_t previous_discrepancy = 1;
  for (size_t n = 0; n < 2 * t; n += 2, shift += 2) {
    uint32_t discrepancy = sums[n / 2];
    for (size_t i = 1; i <= length; i++) {
      discrepancy ^= field_.MultiplyByExp(locator_[i], log_sums_[n + 1 - i]);
    }
    if (discrepancy == 0) continue;
    const uint32_t log_factor = field_.ReduceLog(uint64_t{field_.Log(discrepancy)} +
                                                 field_.order() - field_.Log(previous_discrepancy));
    const bool grows = 2 * length <= n;
    if (grows) saved_ = locator_;
    for (size_t i = 0; i + shift <= t; i++) {
      locator_[i + shift] ^= field_.MultiplyByExp(previous_[i], log_factor);
    }
    if (!grows) continue;
    length = n + 1 - length;
    if (length > t) return -1;
    previous_.swap(saved_);
    previous_discrepancy = discrepancy;
    shift = 0;  // 2 at the next step, for the one that is left out counts
  }
  return static_cast<int>(length);
}

}  // namespace rocksieve::pinsketch
