// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/decoder.h"

#include <algorithm>

namespace rocksieve::pinsketch {

bool Decoder::Decode(const ShiftRegister& sums, std::span<const CellEntry> likely,
                     std::vector<uint32_t>* ids) {
  ids->clear();
  if (sums.is_zero()) return true;
  if (!sums.Reversed(&locator_) || !roots_.Find(locator_, likely, ids)) return false;
  std::sort(ids->begin(), ids->end());
  return true;
}

}  // namespace rocksieve::pinsketch
