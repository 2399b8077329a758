// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/rateless_iblt.h"

#include <algorithm>
#include <cmath>

#include "lib/format/bit_io.h"
#include "lib/sketch/rateless_kernel.h"

namespace rocksieve {
namespace {

// A cell that gives a wrong key z = x + y is then zero, but as x + y - z: once x is known from
// elsewhere, it offers -x, whereupon the other cell offers x anew, for ever. Two uses leave room
// for a right key after a wrong one, and bound all work by the number of symbols.
constexpr uint8_t kMostUses = 2;

constexpr size_t kBlock = 256;  // keys that are worked on together: they fit the first cache

uint32_t LowBits(int bits) { return static_cast<uint32_t>((uint64_t{1} << bits) - 1); }

}  // namespace

RatelessEncoder::RatelessEncoder(PageVector<uint64_t> hashes, const RatelessFormat& format)
    : ids_(std::move(hashes)) {
  for (uint64_t& id : ids_) id = format.IdOf(id);
}

void RatelessEncoder::AddByKernel(size_t symbols, std::vector<RatelessCell>* cells) {
  std::vector<PackedRatelessCell> packed(symbols + 1);
  ActiveRatelessKernel()(ids_.data(), ids_.size(), symbols, packed.data());
  cells->reserve(symbols);
  for (size_t i = cells->size(); i < symbols; i++) {
    cells->push_back({packed[i].ids, static_cast<uint32_t>(packed[i].checks_and_count >> 32),
                      static_cast<uint32_t>(packed[i].checks_and_count)});
  }
}

void RatelessEncoder::Remember(size_t symbols) {
  keys_.reserve(ids_.size());
  for (const uint64_t id : ids_) keys_.emplace_back(id);
  std::vector<RatelessCell> known(symbols);
  AddKeys(&known);
}

void RatelessEncoder::ExtendTo(size_t symbols, std::vector<RatelessCell>* cells) {
  if (symbols <= cells->size()) return;
  if (keys_.empty()) {
    // The kernel makes all symbols anew in a fraction of the time that each key's place takes to be
    // remembered. Only if they become so many more, since a peer may ask for one at a time.
    const bool grows = symbols - cells->size() >= cells->size() / 8;
    if (grows && symbols <= kMostKernelSymbols) return AddByKernel(symbols, cells);
    Remember(cells->size());
  }
  cells->resize(symbols);
  AddKeys(cells);
}

void RatelessEncoder::AddKeys(std::vector<RatelessCell>* cells) {
  const size_t symbols = cells->size();
  // One jump for each key of a block in turn: a jump takes long, but many can be under way at once.
  uint16_t active[kBlock];
  uint32_t checks[kBlock];
  for (size_t begin = 0; begin < keys_.size(); begin += kBlock) {
    RatelessKey* const block = &keys_[begin];
    const size_t size = std::min(kBlock, keys_.size() - begin);
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
      active[count] = static_cast<uint16_t>(i);
      checks[i] = RatelessCheckOf(block[i].id);
      count += block[i].mapping.index() < symbols;
    }
    while (count > 0) {
      size_t left = 0;
      for (size_t a = 0; a < count; a++) {
        const uint16_t i = active[a];
        RatelessCell& cell = (*cells)[block[i].mapping.index()];
        cell.ids += block[i].id;
        cell.checks += checks[i];
        cell.count++;
        block[i].mapping.Advance();
        active[left] = i;
        left += block[i].mapping.index() < symbols;
      }
      count = left;
    }
  }
}

void WriteCells(const std::vector<RatelessCell>& cells, size_t begin, const RatelessFormat& format,
                ByteWriter* out) {
  out->Varint(begin);
  out->Varint(cells.size() - begin);
  BitWriter bits(out->out());
  for (size_t i = begin; i < cells.size(); i++) {
    bits.Put(format.IdOf(cells[i].ids), format.id_bits);
    const int check_bits = format.CheckBits(i);
    bits.Put(cells[i].checks & LowBits(check_bits), check_bits);
    bits.Put(cells[i].count & LowBits(format.count_bits), format.count_bits);
  }
  bits.Finish();
}

RatelessDecoder::RatelessDecoder(PageVector<uint64_t> own_hashes, const RatelessFormat& format,
                                 size_t most_symbols)
    : format_(format),
      id_mask_(format.IdOf(~uint64_t{0})),
      count_mask_(LowBits(format.count_bits)),
      most_symbols_(most_symbols),
      own_(std::move(own_hashes), format) {}

bool RatelessDecoder::IsZero(size_t symbol) const {
  const RatelessCell& cell = cells_[symbol];
  return ((cell.ids & id_mask_) | (cell.checks & LowBits(format_.CheckBits(symbol))) |
          (cell.count & count_mask_)) == 0;
}

void RatelessDecoder::Subtract(const Recovered& key, size_t index) {
  RatelessCell& cell = cells_[index];
  const bool was_zero = IsZero(index);
  const uint32_t check = RatelessCheckOf(key.key.id);
  if (key.remote) {
    cell.ids -= key.key.id;
    cell.checks -= check;
    cell.count--;
  } else {
    cell.ids += key.key.id;
    cell.checks += check;
    cell.count++;
  }
  const bool is_zero = IsZero(index);
  nonzero_cells_ += was_zero;
  nonzero_cells_ -= is_zero;
  if (!is_zero) candidates_.push_back(index);
}

void RatelessDecoder::SubtractFromNewCells(Recovered* key) {
  for (; key->key.mapping.index() < cells_.size(); key->key.mapping.Advance()) {
    Subtract(*key, key->key.mapping.index());
  }
}

bool RatelessDecoder::HoldsOneKey(size_t index, Recovered* key) const {
  const RatelessCell& cell = cells_[index];
  const uint32_t count = cell.count & count_mask_;
  if (count != 1 && count != count_mask_) return false;
  key->remote = count == 1;
  const uint64_t id = (key->remote ? cell.ids : -cell.ids) & id_mask_;
  const uint32_t check = key->remote ? cell.checks : -cell.checks;
  if (((RatelessCheckOf(id) ^ check) & LowBits(format_.CheckBits(index))) != 0) return false;
  key->key = RatelessKey(id);
  RatelessMapping mapping(id);
  while (mapping.index() < index) mapping.Advance();
  return mapping.index() == index;
}

void RatelessDecoder::Peel() {
  Recovered key{RatelessKey(0), false};
  while (!candidates_.empty()) {
    const size_t index = candidates_.back();
    candidates_.pop_back();
    if (uses_[index] == kMostUses || !HoldsOneKey(index, &key)) continue;
    uses_[index]++;
    SubtractFromNewCells(&key);
    recovered_.push_back(key);
  }
}

bool RatelessDecoder::Consume(ByteReader* in) {
  const uint64_t begin = in->Varint(), count = in->Varint();
  // Every cell has at least a byte.
  if (!in->ok() || begin != cells_.size() || count > most_symbols_ - begin ||
      count > in->remaining()) {
    in->Fail();
    return false;
  }
  BitReader bits(in->Bytes((format_.CellBits(begin, begin + count) + 7) / 8));
  if (!in->ok()) return false;
  cells_.resize(begin + count);
  uses_.resize(begin + count);
  own_.ExtendTo(cells_.size(), &own_cells_);
  for (size_t i = begin; i < cells_.size(); i++) {
    cells_[i].ids = bits.Take(format_.id_bits) - own_cells_[i].ids;
    cells_[i].checks =
        static_cast<uint32_t>(bits.Take(format_.CheckBits(i))) - own_cells_[i].checks;
    cells_[i].count = static_cast<uint32_t>(bits.Take(format_.count_bits)) - own_cells_[i].count;
    if (IsZero(i)) continue;
    nonzero_cells_++;
    candidates_.push_back(i);
  }
  for (Recovered& key : recovered_) SubtractFromNewCells(&key);
  Peel();
  if (!bits.Finished()) in->Fail();
  return in->ok();
}

SetDifference RatelessDecoder::Difference() const {
  SetDifference difference;
  for (const Recovered& key : recovered_) {
    (key.remote ? difference.only_remote : difference.only_local).push_back(key.key.id);
  }
  difference.StrikeOut();
  return difference;
}

double ExpectedRatelessSymbols(double differences) {
  if (differences < 0.5) return 1;
  return std::max(3.0, 1.35 * differences + std::sqrt(differences));
}

}  // namespace rocksieve
