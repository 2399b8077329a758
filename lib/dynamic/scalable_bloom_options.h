// The ranges of ScalableBloomFilterOptions, for its constructor and its bytes.
#pragma once

#include <string>

#include <rocksieve/dynamic/scalable_bloom_filter.h>

namespace rocksieve::bloom {

// In one layer. At any rate that a layer can have they need fewer than 2^48 bits.
inline constexpr double kMostLayerKeys = 0x1p38;

// Empty, or which field is wrong and what to give instead.
std::string WhatIsWrong(const ScalableBloomFilterOptions& options);

}  // namespace rocksieve::bloom
