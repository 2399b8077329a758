// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/sketch_bits.h"

#include <algorithm>
#include <cmath>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/plan.h"

namespace rocksieve::join {
namespace {

// Numbers of a sketch per difference, and the bits of each, depend on the differences and on cells
// per difference: on the first smoothly, on the logarithm of the second with period 1, but that the
// numbers take a bit more.
struct Layout {
  double numbers_per_difference = 0;
  double check_bits_per_difference = 0;
  int field_bits = 0;

  double BitsPerDifference(int more_field_bits) const {
    const int bits = std::max(pinsketch::Field::kLeastBits, field_bits + more_field_bits);
    return numbers_per_difference * bits + check_bits_per_difference;
  }
};

constexpr int kLeastLog2 = 5, kMostLog2 = 20;  // of differences
constexpr int kSteps = 8;                      // of one period
constexpr int kTableCellsLog2 = 8;             // per difference, where it is tabulated

class Layouts {
 public:
  Layouts() {
    for (int log2 = kLeastLog2; log2 <= kMostLog2; log2++) {
      for (int step = 0; step <= kSteps; step++) {
        const double differences = std::ldexp(1.0, log2);
        const double keys = differences * std::exp2(static_cast<double>(step) / kSteps);
        const pinsketch::Plan plan = pinsketch::MakePlan(keys, differences, kTableCellsLog2);
        const double check_bits = double{pinsketch::kCheckBits} * plan.Checks();
        const double numbers =
            (8 * static_cast<double>(plan.SketchBytes()) - check_bits) / plan.field_bits;
        layouts_[log2 - kLeastLog2][step] = {numbers / differences, check_bits / differences,
                                             plan.field_bits};
      }
    }
  }

  // Between the layouts of the table.
  std::optional<double> Bits(double differences, double cells_per_difference_log2) const {
    const double whole = std::floor(cells_per_difference_log2);
    const double steps = kSteps * (cells_per_difference_log2 - whole);
    const double log2 = std::clamp(std::log2(differences), double{kLeastLog2}, double{kMostLog2});
    const int step = std::min(kSteps - 1, static_cast<int>(steps));
    const int row = std::min(kMostLog2 - 1, static_cast<int>(log2)) - kLeastLog2;
    const int more_field_bits = static_cast<int>(whole) - kTableCellsLog2;
    const Layout& nearest = layouts_[row][step];
    if (nearest.field_bits + more_field_bits > pinsketch::Field::kMostBits) return std::nullopt;
    const auto at = [&](int in_row) {
      const double low = layouts_[in_row][step].BitsPerDifference(more_field_bits);
      const double high = layouts_[in_row][step + 1].BitsPerDifference(more_field_bits);
      return std::lerp(low, high, steps - step);
    };
    return differences * std::lerp(at(row), at(row + 1), log2 - kLeastLog2 - row);
  }

 private:
  Layout layouts_[kMostLog2 - kLeastLog2 + 1][kSteps + 1];
};

}  // namespace

std::optional<double> SketchBits(double keys, double differences, int cells_log2) {
  static const Layouts layouts;
  return layouts.Bits(differences, std::log2(keys / differences) + cells_log2);
}

}  // namespace rocksieve::join
