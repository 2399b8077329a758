// SPDX-License-Identifier: Apache-2.0
// Arithmetic coding by integers, into bytes (G. N. N. Martin, "Range encoding", 1979).
#pragma once

#include <cstdint>
#include <string>

#include "experiments/any_prefix/context_model.h"

namespace rocksieve::experiments {

class RangeEncoder {
 public:
  void Put(Distribution::Part part);
  // The bytes, as few as tell the end from whatever bytes follow. It is empty again then.
  std::string Finish();

 private:
  void Carry();

  std::string bytes_;
  uint64_t low_ = 0;
  uint32_t range_ = ~0U;
};

class RangeDecoder {
 public:
  // Reads at most 4 bytes beyond what an encoder wrote.
  explicit RangeDecoder(const uint8_t* bytes);
  Symbol Get(const Distribution& distribution, Distribution::Part* part);

 private:
  const uint8_t* next_;
  uint32_t code_ = 0, range_ = ~0U;
};

}  // namespace rocksieve::experiments
