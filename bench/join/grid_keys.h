// Sets of keys of different shapes, for the grid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve::bench {

enum class KeyShape { kRandom, kDenseIds, kUuids, kPaths };

inline constexpr KeyShape kAllKeyShapes[] = {KeyShape::kRandom, KeyShape::kDenseIds,
                                             KeyShape::kUuids, KeyShape::kPaths};

// "random", "dense-ids", "uuids", "paths".
std::string_view NameOf(KeyShape shape);

struct GridSets {
  std::vector<std::string> client, server;  // sorted, each key once
  std::vector<std::string> Common() const;  // by std::set_intersection
};

// `common` keys are in both. The same for the same seed.
GridSets MakeGridSets(KeyShape shape, uint64_t client, uint64_t server, uint64_t common,
                      uint64_t seed);

}  // namespace rocksieve::bench
