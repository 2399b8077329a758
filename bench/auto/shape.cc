#include "bench/auto/shape.h"

namespace rocksieve::bench {

std::vector<Shape> Shapes(double scale) {
  std::vector<Shape> shapes = {
      {"ratio_10_live", "ratio 10, with L0 files", false, 10, 2, false, 900000, 1000, 0.05, 0.35},
      {"ratio_10", "ratio 10, without L0 files", false, 10, 0, false, 900000, 1000, 0.07, 0.50},
      {"ratio_4_live", "ratio 4, with L0 files", false, 4, 2, false, 500000, 1000, 0.07, 0.45},
      {"ratio_4", "ratio 4, without L0 files", false, 4, 0, false, 500000, 1000, 0.10, 0.65},
      {"universal", "universal, 4 runs", true, 0, 0, false, 400000, 1000, 0.10, 0.65},
      {"one_run", "one sorted run", false, 10, 0, true, 300000, 1000, 0.12, 0.90}};
  for (Shape& shape : shapes) {
    shape.keys = static_cast<uint64_t>(scale * static_cast<double>(shape.keys));
    if (scale > 1) shape.keys_per_flush = static_cast<uint64_t>(1000 * scale);
  }
  return shapes;
}

}  // namespace rocksieve::bench
