// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/elimination.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rocksieve::ribbon {

Equation EquationInLastBucket(const Row& row, uint64_t first_group, uint64_t hash,
                              uint64_t groups) {
  if (first_group + row.ThirdGroupDistance() < groups) return EquationOf(row, first_group, hash);
  const auto first = static_cast<int64_t>(first_group);
  const auto end = static_cast<int64_t>(groups);
  const int64_t chunk_groups[3] = {
      first, Folded(first + 1, end),
      Folded(first + static_cast<int64_t>(row.ThirdGroupDistance()), end)};
  const int64_t leftmost = *std::min_element(chunk_groups, chunk_groups + 3);
  uint64_t coefficients = 0;
  for (int i = 0; i < 3; i++) {
    coefficients |= uint64_t{row.Coefficients() >> (8 * i) & 0xFF}
                    << (kSlotsPerGroup * (chunk_groups[i] - leftmost));
  }
  return {coefficients, static_cast<uint32_t>(leftmost * kSlotsPerGroup), Fingerprint(hash)};
}

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

namespace {

constexpr size_t kReach = kGroupsPerRow * kSlotsPerGroup;

}  // namespace

ChainElimination::ChainElimination(size_t keys, BackSubstitution back_substitution)
    : back_substitution_(back_substitution), equations_(keys + keys / 128 + 256) {}

bool ChainElimination::AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) {
  const size_t slots = groups * kSlotsPerGroup;
  const size_t needed = slots_ + slots + 2 * kReach;
  if (needed > equations_.slots()) equations_.GrowTo(needed + needed / 8);
  SortIntoEquations(hashes, groups, last);
  if (!equations_.Add({sorted_.data(), hashes.size()}, slots_, &try_)) return false;
  std::swap(added_, try_);
  slots_ += slots;
  slots_of_last_ = slots;
  return true;
}

void ChainElimination::TakeBack() {
  equations_.TakeBack(added_);
  slots_ -= slots_of_last_;
}

// No row reaches farther.
int64_t ChainElimination::Backlog() const {
  return static_cast<int64_t>(kReach - equations_.CountFree(slots_, slots_ + kReach));
}

// By first group: from left to right, elimination takes the fewest steps. The place of each row
// among those of its group is known after the first pass, so that no store of the second one waits
// for another.
void ChainElimination::SortIntoEquations(Span<const uint64_t> hashes, uint64_t groups, bool last) {
  if (sorted_.size() < hashes.size()) sorted_.resize(hashes.size());
  uint16_t group[kMostKeysOfBucket], place[kMostKeysOfBucket], begin[kMostGroupsTried + 1] = {};
  for (size_t i = 0; i < hashes.size(); i++) {
    group[i] = static_cast<uint16_t>(Row(hashes[i], groups).FirstGroup(groups));
    place[i] = begin[group[i] + 1]++;
  }
  for (uint64_t g = 0; g < groups; g++)
    begin[g + 1] = static_cast<uint16_t>(begin[g + 1] + begin[g]);
  for (size_t i = 0; i < hashes.size(); i++) {
    const Row row(hashes[i], groups);
    sorted_[size_t{begin[group[i]]} + place[i]] =
        last ? EquationInLastBucket(row, group[i], hashes[i], groups)
             : EquationOf(row, group[i], hashes[i]);
  }
}

BlockElimination::BlockElimination(size_t keys, int most_columns, const BlockFunctions& functions)
    : functions_(functions),
      result_bytes_(most_columns <= 8    ? 1
                    : most_columns <= 16 ? 2
                                         : 4) {
  std::memset(&pending_[now_], 0, sizeof(PendingRows));
  ReserveGroups(keys / kSlotsPerGroup + keys / 1024 + 32);
}

void BlockElimination::ReserveGroups(uint64_t groups) {
  equations_.resize(groups);
  more_results_.resize(groups * static_cast<uint64_t>(result_bytes_ - 1));
}

bool BlockElimination::AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) {
  const uint64_t needed = groups_ + groups;
  if (needed > equations_.size()) ReserveGroups(needed + needed / 8);
  if (last) {
    SortLastBucket(hashes, groups);
  } else {
    functions_.sort(hashes, groups, result_bytes_, &rows_);
  }
  rows_.folded = last;
  PendingRows* const next = &pending_[next_];
  if (!functions_.eliminate(rows_, groups, result_bytes_, pending_[now_], next,
                            equations_.data() + groups_,
                            more_results_.data() + groups_ * (result_bytes_ - 1)) ||
      (last && next->places_with_rows != 0)) {
    return false;
  }
  const int free = before_;
  before_ = now_;
  now_ = next_;
  next_ = free;
  groups_ += groups;
  groups_of_last_ = groups;
  return true;
}

void BlockElimination::TakeBack() {
  std::swap(now_, before_);
  groups_ -= groups_of_last_;
}

int64_t BlockElimination::Backlog() const {
  return __builtin_popcountll(pending_[now_].places_with_rows);
}

void BlockElimination::BackSubstitute(const GroupLayout& layout, uint8_t* group_bytes) const {
  functions_.back_substitute(equations_.data(), more_results_.data(), result_bytes_, layout,
                             group_bytes);
}

// One of the buckets only: plain code.
void BlockElimination::SortLastBucket(Span<const uint64_t> hashes, uint64_t groups) {
  Equation equations[kMostKeysOfBucket];
  uint16_t* const begin = rows_.begin_of_group;
  std::fill(begin, begin + groups + 1, uint16_t{0});
  for (size_t i = 0; i < hashes.size(); i++) {
    const Row row(hashes[i], groups);
    equations[i] = EquationInLastBucket(row, row.FirstGroup(groups), hashes[i], groups);
    begin[equations[i].first_slot / kSlotsPerGroup + 1]++;
  }
  uint16_t next[kMostGroupsTried];
  for (uint64_t g = 0; g < groups; g++) {
    next[g] = begin[g];
    begin[g + 1] = static_cast<uint16_t>(begin[g + 1] + begin[g]);
  }
  for (size_t i = 0; i < hashes.size(); i++) {
    const Equation& equation = equations[i];
    const size_t at = next[equation.first_slot / kSlotsPerGroup]++;
    for (int j = 0; j < kGroupsPerRow; j++) {
      rows_.selected[j][at] = static_cast<uint8_t>(equation.coefficients >> (8 * j));
    }
    for (int j = 0; j < kMostResultBytes; j++) {
      rows_.results[j][at] = static_cast<uint8_t>(equation.result >> (8 * j));
    }
  }
}

}  // namespace rocksieve::ribbon
