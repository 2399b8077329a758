// The trees on which rocksieve.auto is compared with uniform filters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocksieve::bench {

struct Shape {
  std::string name;         // a key in the report
  std::string description;  // a row of the table
  bool universal = false;
  int ratio = 10;
  int l0_files = 0;  // that stay in level 0 in the end
  bool one_run = false;
  uint64_t keys = 0;
  // Of all gains at 10 bits, the largest ratio of useless reads that the documentation promises,
  // over the uniform Bloom and the uniform Ribbon filter.
  double most_of_bloom = 0, most_of_ribbon = 0;
};

// Those of the documentation, with `scale` times the usual number of keys.
std::vector<Shape> Shapes(double scale);

}  // namespace rocksieve::bench
