// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/sums.h"

#include <algorithm>
#include <bit>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/positions.h"

namespace rocksieve::pinsketch {
namespace {

static_assert(kMostLevels <= 96, "AddAll knows rows of up to three lines");

}  // namespace

PowerRows::PowerRows(const Field& field, int levels)
    : levels_(static_cast<size_t>(levels)),
      lines_(LinesFor(levels)),
      rows_((size_t{field.order()} + 1) * lines_, Line{}) {
  for (uint32_t id = 1; id <= field.order(); id++) {
    const uint32_t step = field.ReduceOnce(2 * field.Log(id));
    uint32_t log = field.Log(id);
    for (size_t level = 0; level < levels_; level++) {
      Line& line = rows_[id * lines_ + level / kLevelsOfALine];
      line.powers[level % kLevelsOfALine] = static_cast<uint16_t>(field.Exp(log));
      log = field.ReduceOnce(log + step);
    }
  }
}

void PowerRows::AddAll(const CellTable& cells, std::span<uint32_t> sums,
                       std::span<uint32_t> checks) const {
  switch (lines_) {
    case 1:
      return Add<1>(cells, sums, checks);
    case 2:
      return Add<2>(cells, sums, checks);
    default:
      return Add<3>(cells, sums, checks);
  }
}

template <size_t kLines>
void PowerRows::Add(const CellTable& cells, std::span<uint32_t> sums,
                    std::span<uint32_t> checks) const {
  constexpr size_t kVectors = kLines * sizeof(Line) / sizeof(Vector);
  for (uint32_t group = 0; group < cells.groups(); group++) {
    const std::span<const CellEntry> entries = cells.Group(group);
    if (entries.empty()) continue;
    union {
      Vector vectors[kVectors];
      Line lines[kLines];
    } total = {};
    uint32_t check = 0;
    for (const CellEntry& entry : entries) {
      const Vector* const row = reinterpret_cast<const Vector*>(&rows_[entry.id * kLines]);
      for (size_t i = 0; i < kVectors; i++) total.vectors[i] ^= row[i];
      check ^= CellCheck(group, entry.id);
    }
    checks[group / kGroupsPerCheck] ^= check;
    uint32_t* const group_sums = &sums[group * levels_];
    for (size_t level = 0; level < levels_; level++) {
      group_sums[level] ^= total.lines[level / kLevelsOfALine].powers[level % kLevelsOfALine];
    }
  }
}

size_t PowerRows::Select(const Mask& mask, size_t levels, uint32_t parity,
                         std::span<uint32_t> ids) const {
  constexpr size_t kLevelsOfAVector = sizeof(Vector) / sizeof(uint16_t);
  const size_t vectors = (levels + kLevelsOfAVector - 1) / kLevelsOfAVector;
  switch (vectors) {
    case 1:
      return SelectBy<1>(mask, parity, ids);
    case 2:
      return SelectBy<2>(mask, parity, ids);
    case 3:
    case 4:
      return SelectBy<4>(mask, parity, ids);  // a line, which is there as a whole
    default:
      return lines_ == 2 ? SelectBy<8>(mask, parity, ids) : SelectBy<12>(mask, parity, ids);
  }
}

template <size_t kVectors>
size_t PowerRows::SelectBy(const Mask& mask, uint32_t parity, std::span<uint32_t> ids) const {
  const Vector* const bits = reinterpret_cast<const Vector*>(mask.powers_);
  size_t selected = 0;
  for (const uint32_t id : ids) {
    const Vector* const row = reinterpret_cast<const Vector*>(&rows_[id * lines_]);
    Vector sum = row[0] & bits[0];
    for (size_t i = 1; i < kVectors; i++) sum ^= row[i] & bits[i];
    // Without a branch on what nobody can foresee.
    ids[selected] = id;
    selected += static_cast<uint32_t>(__builtin_parityll(sum[0] ^ sum[1])) == parity;
  }
  return selected;
}

namespace {

constexpr size_t kMostPowers = std::bit_ceil(size_t{2} * kMostLevels);
constexpr size_t kMostPowerBits = std::countr_zero(kMostPowers);

}  // namespace

void CosetSums::MakeMultiplication(uint32_t factor, LinearMap* map) const {
  uint32_t images[Field::kMostBits];
  const auto bits = static_cast<size_t>(field_.bits());
  for (size_t i = 0; i < bits; i++) images[i] = field_.Multiply(factor, uint32_t{1} << i);
  map->Make(std::span(images, bits));
}

uint64_t CosetSums::MemoryFor(int field_bits, int levels) {
  const uint64_t cosets = uint64_t{1} << (field_bits - kLowBits);
  return (kLow + cosets * kGroupsAtOnce) * VectorsFor(levels) * sizeof(Vector) +
         cosets * kGroupsAtOnce + (kMostPowerBits + 1) * sizeof(LinearMap);
}

CosetSums::CosetSums(const Field& field, int levels)
    : field_(field),
      levels_(static_cast<size_t>(levels)),
      vectors_(VectorsFor(levels)),
      cosets_(uint32_t{1} << (field.bits() - kLowBits)),
      rows_(kLow * vectors_),
      sums_(cosets_ * kGroupsAtOnce * vectors_),
      parity_(cosets_ * kGroupsAtOnce),
      maps_(kMostPowerBits + 1) {
  for (uint32_t v = 1; v < kLow; v++) {
    const uint32_t step = field.ReduceOnce(2 * field.Log(v));
    uint32_t log = field.Log(v);
    for (size_t level = 0; level < levels_; level++) {
      rows_[v * vectors_ + level / 4][level % 4] = field.Exp(log);
      log = field.ReduceOnce(log + step);
    }
  }
  uint32_t squares[Field::kMostBits];
  const auto bits = static_cast<size_t>(field.bits());
  for (size_t i = 0; i < bits; i++) {
    squares[i] = field.Multiply(uint32_t{1} << i, uint32_t{1} << i);
  }
  maps_[0].Make(std::span(squares, bits));
}

void CosetSums::AddAll(const CellTable& cells, std::span<uint32_t> sums,
                       std::span<uint32_t> checks) {
  for (uint32_t begin = 0; begin < cells.groups(); begin += kGroupsAtOnce) {
    const auto end =
        static_cast<uint32_t>(std::min<size_t>(cells.groups(), size_t{begin} + kGroupsAtOnce));
    SumByCoset(cells, begin, end, checks);
    for (uint32_t upper = 0; upper < cosets_; upper++) {
      AddCoset(upper, end - begin, &sums[begin * levels_]);
    }
  }
}

void CosetSums::SumByCoset(const CellTable& cells, uint32_t begin, uint32_t end,
                           std::span<uint32_t> checks) {
  std::fill(sums_.begin(), sums_.end(), Vector{});
  std::fill(parity_.begin(), parity_.end(), 0);
  for (uint32_t group = begin; group < end; group++) {
    uint32_t check = 0;
    for (const CellEntry& entry : cells.Group(group)) {
      check ^= CellCheck(group, entry.id);
      const size_t coset = CosetOf(entry.id >> kLowBits, group - begin);
      Vector* const sum = &sums_[coset * vectors_];
      const Vector* const row = &rows_[(entry.id & (kLow - 1)) * vectors_];
      for (size_t i = 0; i < vectors_; i++) sum[i] ^= row[i];
      parity_[coset] ^= 1;
    }
    checks[group / kGroupsPerCheck] ^= check;
  }
}

// What the keys of these groups with u = upper * 2^kLowBits add.
void CosetSums::AddCoset(uint32_t upper, uint32_t groups, uint32_t* sums) {
  const size_t powers = 2 * levels_;
  uint32_t factor = upper << kLowBits;
  size_t factors = 0;  // of u = 0 nothing follows but V itself
  for (; upper != 0 && size_t{1} << factors < powers; factors++) {
    MakeMultiplication(factor, &maps_[1 + factors]);
    factor = field_.Multiply(factor, factor);
  }
  uint32_t w[kMostPowers];
  for (uint32_t group = 0; group < groups; group++) {
    const size_t coset = CosetOf(upper, group);
    w[0] = parity_[coset];
    for (size_t level = 0; level < levels_; level++) {
      w[2 * level + 1] = sums_[coset * vectors_ + level / 4][level % 4];
    }
    for (size_t n = 2; n < powers; n += 2) w[n] = maps_[0].Of(w[n / 2]);
    for (size_t b = 0; b < factors; b++) {
      const LinearMap& product = maps_[1 + b];
      const size_t bit = size_t{1} << b;
      for (size_t first = bit; first < powers; first += 2 * bit) {
        const size_t end = std::min(first + bit, powers);
        for (size_t n = first; n < end; n++) w[n] ^= product.Of(w[n - bit]);
      }
    }
    for (size_t level = 0; level < levels_; level++) {
      sums[group * levels_ + level] ^= w[2 * level + 1];
    }
  }
}

namespace {

bool UsesRows(const Plan& plan, size_t hashes) {
  return plan.field_bits <= PowerRows::kMostFieldBits && hashes >= size_t{2} << plan.field_bits;
}

}  // namespace

uint64_t GroupSums::MemoryFor(const Plan& plan, size_t hashes) {
  uint64_t bytes = CellTable::MemoryFor(plan.groups, hashes) +
                   uint64_t{plan.groups} * static_cast<uint64_t>(plan.Levels()) * sizeof(uint32_t);
  if (UsesRows(plan, hashes)) {
    bytes += PowerRows::MemoryFor(plan.field_bits, plan.Levels());
  } else if (CosetSums::IsWorth(plan, hashes)) {
    bytes += CosetSums::MemoryFor(plan.field_bits, plan.Levels());
  }
  return bytes;
}

GroupSums::GroupSums(const Plan& plan, const CellTable& cells)
    : field_bits_(plan.field_bits),
      levels_(static_cast<size_t>(plan.Levels())),
      cells_(cells),
      sums_(size_t{plan.groups} * levels_, 0),
      checks_(plan.Checks()) {
  if (UsesRows(plan, cells.size())) {
    rows_ = std::make_unique<PowerRows>(Field::OfBits(field_bits_), plan.Levels());
    rows_->AddAll(cells, sums_, checks_);
  } else if (CosetSums::IsWorth(plan, cells.size())) {
    CosetSums(Field::OfBits(field_bits_), plan.Levels()).AddAll(cells, sums_, checks_);
  } else {
    AddOneByOne();
  }
}

void GroupSums::AddOneByOne() {
  const Field& field = Field::OfBits(field_bits_);
  for (uint32_t group = 0; group < cells_.groups(); group++) {
    const std::span<uint32_t> sums = std::span(sums_).subspan(group * levels_, levels_);
    for (const CellEntry& entry : cells_.Group(group)) {
      AddToSums(field, entry.id, sums);
      checks_[group / kGroupsPerCheck] ^= CellCheck(group, entry.id);
    }
  }
}

void GroupSums::AtLevel(int level, std::vector<uint32_t>* sums) const {
  sums->assign(cells_.groups(), 0);
  const size_t index = static_cast<size_t>(level - 1);
  if (index < levels_) {
    for (size_t group = 0; group < sums->size(); group++) {
      (*sums)[group] = sums_[group * levels_ + index];
    }
    return;
  }
  const Field& field = Field::OfBits(field_bits_);
  for (uint32_t group = 0; group < cells_.groups(); group++) {
    uint32_t sum = 0;
    for (const CellEntry& entry : cells_.Group(group)) sum ^= PowerAtLevel(field, entry.id, level);
    (*sums)[group] = sum;
  }
}

}  // namespace rocksieve::pinsketch
