// SPDX-License-Identifier: Apache-2.0
// The kernel in plain C++, in loops that compilers make vectors of: it is compiled without errno of
// square roots.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/sketch/rateless_kernel.h"

namespace rocksieve {
namespace {

constexpr size_t kBlock = 256;

// Exact for numbers up to 2^52.
double ToDouble(uint64_t number) {
  const uint64_t bits = number | 0x4330000000000000;  // 2^52 + number
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value - 0x1p52;
}

class Block {
 public:
  explicit Block(size_t symbols) : symbols_(static_cast<double>(symbols)) {}

  void Take(const uint64_t* ids, size_t count, PackedRatelessCell* first) {
    count_ = count;
    for (size_t i = 0; i < count; i++) {
      key_[i] = {ids[i], uint64_t{RatelessCheckOf(ids[i])} << 32 | 1};
      first->ids += key_[i].ids;
      first->checks_and_count += key_[i].checks_and_count;
      state_[i] = Mix64(ids[i] ^ RatelessMapping::kSeed) | 1;
      index_[i] = 0;
      slot_[i] = static_cast<uint16_t>(i);
    }
  }
  bool empty() const { return count_ == 0; }

  // As RatelessMapping::Advance(), but beyond the symbols all indexes are the same.
  void Jump() {
    for (size_t i = 0; i < count_; i++) state_[i] *= RatelessMapping::kMultiplier;
    for (size_t i = 0; i < count_; i++) next_[i] = ToDouble((state_[i] >> 32) + 1);
    for (size_t i = 0; i < count_; i++) {
      const double quotient = (index_[i] + 1) * (index_[i] + 2) * 0x1p32 / next_[i];
      const double next = std::sqrt(quotient + 0.25) - 1.5;
      next_[i] = next < symbols_ ? next : symbols_;
    }
  }

  // Forgets those that are beyond the symbols.
  void AddTo(PackedRatelessCell* cells) {
    size_t left = 0;
    for (size_t i = 0; i < count_; i++) {
      int32_t index = static_cast<int32_t>(next_[i]);
      index += static_cast<double>(index) < next_[i];
      index = std::max(index, static_cast<int32_t>(index_[i]) + 1);
      const PackedRatelessCell& key = key_[slot_[i]];
      cells[index].ids += key.ids;
      cells[index].checks_and_count += key.checks_and_count;
      state_[left] = state_[i];
      slot_[left] = slot_[i];
      index_[left] = static_cast<double>(index);
      left += index_[left] < symbols_;
    }
    count_ = left;
  }

 private:
  const double symbols_;
  size_t count_ = 0;
  double index_[kBlock], next_[kBlock];
  uint64_t state_[kBlock];
  PackedRatelessCell key_[kBlock];
  uint16_t slot_[kBlock];
};

void AddKeys(const uint64_t* ids, size_t count, size_t symbols, PackedRatelessCell* cells) {
  Block block(symbols);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    block.Take(ids + begin, std::min(kBlock, count - begin), &cells[0]);
    for (block.Jump(); !block.empty(); block.Jump()) block.AddTo(cells);
  }
}

}  // namespace

RatelessKernel RatelessKernelFor(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return AddRatelessKeysByAvx512;
#else
  static_cast<void>(isa);
#endif
  return AddKeys;
}

RatelessKernel ActiveRatelessKernel() {
  static const RatelessKernel kernel = RatelessKernelFor(ActiveIsa());
  return kernel;
}

}  // namespace rocksieve
