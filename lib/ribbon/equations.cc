// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/equations.h"

namespace rocksieve::ribbon {
namespace {

// An equation on its way: what it selects has moved to `slot` by now.
struct Chain {
  uint64_t coefficients = 0;  // 0: none on its way
  uint32_t result = 0;
  uint32_t slot = 0;
};

// One Add(). Gaussian elimination with the leftmost slot as the pivot: where a slot has an equation
// already, the new one is added to it, which moves its leftmost slot to the right.
class Chains {
 public:
  Chains(Span<const Equation> equations, uint64_t* coefficients, uint32_t* results, uint32_t* added)
      : next_(equations.data()),
        end_(next_ + equations.size()),
        coefficients_(coefficients),
        results_(results),
        added_(added) {}

  // Each step needs what the last one loaded. So four equations go their ways at once: the
  // processor overlaps what would else be one long chain of waiting (46 against 22 ns per key).
  void Run() {
    Chain a, b, c, d;
    bool more = Fetch(&a) && Fetch(&b) && Fetch(&c) && Fetch(&d);
    while (more && !dependent_) {
      more = Advance(&a) && Advance(&b) && Advance(&c) && Advance(&d);
    }
    for (Chain* chain : {&a, &b, &c, &d}) {
      while (chain->coefficients != 0 && !dependent_) Step(chain);
    }
  }

  bool dependent() const { return dependent_; }
  uint32_t* added_end() const { return added_; }

 private:
  // Takes the next equation; false if there is none.
  [[gnu::always_inline]] bool Fetch(Chain* chain) {
    if (next_ == end_) return false;
    *chain = {next_->coefficients, next_->result, next_->first_slot};
    next_++;
    if (chain->coefficients == 0) {
      dependent_ = true;
    } else {
      MoveToLeftmost(chain);
    }
    return true;
  }

  [[gnu::always_inline]] bool Advance(Chain* chain) {
    Step(chain);
    return chain->coefficients != 0 || Fetch(chain);
  }

  [[gnu::always_inline]] void Step(Chain* chain) {
    const uint64_t pivot = coefficients_[chain->slot];
    if (pivot == 0) {
      coefficients_[chain->slot] = chain->coefficients;
      results_[chain->slot] = chain->result;
      *added_++ = chain->slot;
      chain->coefficients = 0;
      return;
    }
    chain->coefficients ^= pivot;
    chain->result ^= results_[chain->slot];
    if (chain->coefficients == 0) [[unlikely]] {
      dependent_ = true;
    } else {
      MoveToLeftmost(chain);
    }
  }

  [[gnu::always_inline]] static void MoveToLeftmost(Chain* chain) {
    const int zeros = __builtin_ctzll(chain->coefficients);
    chain->coefficients >>= zeros;
    chain->slot += static_cast<uint32_t>(zeros);
  }

  const Equation* next_;
  const Equation* const end_;
  uint64_t* const coefficients_;
  uint32_t* const results_;
  uint32_t* added_;
  bool dependent_ = false;
};

}  // namespace

bool Equations::Add(Span<const Equation> equations, size_t base_slot, Added* added) {
  if (added->slots.size() < equations.size()) added->slots.resize(equations.size());
  Chains chains(equations, coefficients_.data() + base_slot, results_.data() + base_slot,
                added->slots.data());
  chains.Run();
  added->base_slot = base_slot;
  added->count = static_cast<size_t>(chains.added_end() - added->slots.data());
  if (chains.dependent()) TakeBack(*added);
  return !chains.dependent();
}

void Equations::TakeBack(const Added& added) {
  for (size_t i = 0; i < added.count; i++) {
    coefficients_[added.base_slot + added.slots[i]] = 0;
    results_[added.base_slot + added.slots[i]] = 0;
  }
}

size_t Equations::CountFree(size_t begin_slot, size_t end_slot) const {
  size_t free = 0;
  for (size_t slot = begin_slot; slot < end_slot; slot++) free += coefficients_[slot] == 0;
  return free;
}

}  // namespace rocksieve::ribbon
