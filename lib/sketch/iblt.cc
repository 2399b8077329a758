#include "lib/sketch/iblt.h"

#include <cmath>

#include "lib/format/bit_io.h"
#include "lib/format/coding.h"
#include "lib/hash/mix.h"

namespace rocksieve {
namespace {

constexpr uint64_t kIdMask = (uint64_t{1} << Iblt::kIdBits) - 1;
constexpr uint32_t kCheckMask = (uint32_t{1} << Iblt::kCheckBits) - 1;
constexpr uint32_t kCountMask = (uint32_t{1} << Iblt::kCountBits) - 1;
constexpr uint8_t kMostUses = 2;  // of a cell; rateless_iblt.cc says why

uint32_t CheckOf(uint64_t id) {
  return static_cast<uint32_t>(SplitMix64(id, Iblt::kParts) >> (64 - Iblt::kCheckBits));
}

size_t CellOf(uint64_t id, uint64_t part, size_t cells) {
  const size_t size = cells / Iblt::kParts;
  return static_cast<size_t>(part) * size +
         static_cast<size_t>(MultiplyHigh64(SplitMix64(id, part), size));
}

}  // namespace

uint32_t IbltCells(double differences) {
  differences = std::min(std::max(differences, 0.0), 1e8);
  const double cells = 1.3 * differences + 3.5 * std::sqrt(differences) + 18;
  return static_cast<uint32_t>(std::ceil(cells / Iblt::kParts)) * Iblt::kParts;
}

Iblt::Iblt(uint32_t cells, std::span<const uint64_t> hashes) : cells_(cells) {
  for (uint64_t hash : hashes) Add(hash & kIdMask, 1);
}

void Iblt::Add(uint64_t id, uint32_t times) {
  const uint32_t check = CheckOf(id);
  for (uint64_t part = 0; part < Iblt::kParts; part++) {
    Cell& cell = cells_[CellOf(id, part, cells_.size())];
    cell.ids += id * static_cast<uint64_t>(static_cast<int32_t>(times));
    cell.checks += check * times;
    cell.count += times;
  }
}

void Iblt::Write(ByteWriter* out) const {
  BitWriter bits(out->out());
  for (const Cell& cell : cells_) {
    bits.Put(cell.ids & kIdMask, kIdBits);
    bits.Put(cell.checks & kCheckMask, kCheckBits);
    bits.Put(cell.count & kCountMask, kCountBits);
  }
  bits.Finish();
}

Iblt::Result Iblt::Decode(ByteReader* in, SetDifference* difference) const {
  difference->only_remote.clear();
  difference->only_local.clear();
  BitReader bits(in->Bytes(Bytes()));
  if (!in->ok()) return Result::kDamaged;
  Iblt left = *this;
  for (Cell& cell : left.cells_) {
    cell.ids = bits.Take(kIdBits) - cell.ids;
    cell.checks = static_cast<uint32_t>(bits.Take(kCheckBits)) - cell.checks;
    cell.count = static_cast<uint32_t>(bits.Take(kCountBits)) - cell.count;
  }
  std::vector<uint8_t> uses(cells_.size());
  std::vector<size_t> candidates(cells_.size());
  for (size_t i = 0; i < candidates.size(); i++) candidates[i] = i;
  while (!candidates.empty()) {
    const size_t at = candidates.back();
    candidates.pop_back();
    const Cell& cell = left.cells_[at];
    const uint32_t count = cell.count & kCountMask;
    if (uses[at] == kMostUses || (count != 1 && count != kCountMask)) continue;
    const bool remote = count == 1;
    const uint64_t id = (remote ? cell.ids : -cell.ids) & kIdMask;
    if (((CheckOf(id) ^ (remote ? cell.checks : -cell.checks)) & kCheckMask) != 0) continue;
    if (CellOf(id, at / (cells_.size() / Iblt::kParts), cells_.size()) != at) continue;
    uses[at]++;
    (remote ? difference->only_remote : difference->only_local).push_back(id);
    left.Add(id, remote ? uint32_t{0} - 1 : 1);
    for (uint64_t part = 0; part < Iblt::kParts; part++) {
      candidates.push_back(CellOf(id, part, cells_.size()));
    }
  }
  difference->StrikeOut();
  for (const Cell& cell : left.cells_) {
    if (((cell.ids & kIdMask) | (cell.checks & kCheckMask) | (cell.count & kCountMask)) != 0) {
      return Result::kTooMany;
    }
  }
  return Result::kDecoded;
}

}  // namespace rocksieve
