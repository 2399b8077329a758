// SPDX-License-Identifier: Apache-2.0
// Counts what is asked of a policy's range filters, for the filters that it builds next.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/range/cells.h"

namespace rocksieve {

// Thread-safe. Every sixteenth query of a thread is looked at, which costs the others about a
// nanosecond; counts are halved now and then, so that they follow what is asked now.
class QuerySampler {
 public:
  // A reader is asked for a key, or for the range [begin, end), which counts if begin < end.
  void CountLookup();
  void CountRange(std::string_view begin, std::string_view end);

  // Empty as long as too little was asked to go by.
  range::QueryMix Mix() const;

 private:
  void Add(std::atomic<uint64_t>* count, uint64_t amount);
  void HalveIfMany();

  std::atomic<uint64_t> lookups_{0}, sampled_{0};
  std::array<std::atomic<uint64_t>, range::kMaxDepth + 1> ranges_{}, cells_below_{};
};

}  // namespace rocksieve
