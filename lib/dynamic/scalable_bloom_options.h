// The ranges of ScalableBloomFilterOptions, for its constructor and its bytes.
#pragma once

#include <string>

#include <rocksieve/dynamic/scalable_bloom_filter.h>

namespace rocksieve::bloom {

// Empty, or which field is wrong and what to give instead.
std::string WhatIsWrong(const ScalableBloomFilterOptions& options);

}  // namespace rocksieve::bloom
