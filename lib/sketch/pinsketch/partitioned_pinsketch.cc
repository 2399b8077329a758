// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"

#include <algorithm>
#include <utility>

#include "lib/format/bit_io.h"

namespace rocksieve::pinsketch {
namespace {

void ReadBatch(ParityBatch* batch, int field_bits, BitReader* bits) {
  for (uint32_t& symbol : batch->symbols) symbol = static_cast<uint32_t>(bits->Take(field_bits));
}

// The mean of a Poisson distribution of which the given share is at least n.
double MeanWith(double share_at_least_n, int n) {
  double low = 0, high = 4.0 * n + 20;
  for (int i = 0; i < 40; i++) {
    const double middle = (low + high) / 2;
    (PoissonAtLeast(middle, n) < share_at_least_n ? low : high) = middle;
  }
  return low;
}

constexpr double kAskLevelsUntil = 0.05;  // expected groups that need a level

void WriteBatch(ParityBatch* batch, const std::vector<uint32_t>& sums, int field_bits,
                BitWriter* bits) {
  for (uint32_t group = 0; group < batch->groups; group++) batch->AddToSymbols(group, sums[group]);
  for (uint32_t symbol : batch->symbols) bits->Put(symbol, field_bits);
}

}  // namespace

PartitionedEncoder::PartitionedEncoder(const Plan& plan, std::span<const uint64_t> hashes)
    : plan_(plan),
      cells_(hashes, plan.groups, plan.field_bits),
      sums_(plan, cells_),
      batches_(kMostLevels + 1) {
  for (size_t i = 0; i < plan.parity_symbols.size(); i++) {
    if (plan.parity_symbols[i] == 0) continue;
    batches_[static_cast<size_t>(plan.raw_levels) + 1 + i].push_back(plan.parity_symbols[i]);
  }
}

void PartitionedEncoder::WriteSketch(ByteWriter* out) {
  BitWriter bits(out->out());
  for (uint32_t group = 0; group < plan_.groups; group++) {
    const std::span<const uint32_t> sums = sums_.OfGroup(group);
    for (int level = 1; level <= plan_.raw_levels; level++) {
      bits.Put(sums[static_cast<size_t>(level - 1)], plan_.field_bits);
    }
  }
  std::vector<uint32_t> sums;
  for (int level = plan_.raw_levels + 1; level <= plan_.Levels(); level++) {
    const std::vector<uint32_t>& sizes = batches_[static_cast<size_t>(level)];
    if (sizes.empty()) continue;
    sums_.AtLevel(level, &sums);
    ParityBatch batch(level, 0, plan_.groups, sizes[0], sizes[0]);
    WriteBatch(&batch, sums, plan_.field_bits, &bits);
  }
  for (uint32_t check : sums_.checks()) bits.Put(check, kCheckBits);
  bits.Finish();
}

bool PartitionedEncoder::AnswerRequest(ByteReader* request, uint64_t most_symbols,
                                       ByteWriter* out) {
  std::vector<std::pair<int, uint32_t>> wanted;
  const uint64_t entries = request->Varint(kMostLevels);
  for (uint64_t i = 0; i < entries && request->ok(); i++) {
    const int level = static_cast<int>(request->Varint(kMostLevels));
    const uint32_t symbols = static_cast<uint32_t>(request->Varint(plan_.groups));
    if (level == 0 || symbols == 0 || symbols > most_symbols) {
      request->Fail();
      break;
    }
    most_symbols -= symbols;
    wanted.emplace_back(level, symbols);
  }
  if (!request->ok()) return false;
  BitWriter bits(out->out());
  std::vector<uint32_t> sums;
  for (const auto& [level, symbols] : wanted) {
    std::vector<uint32_t>& sizes = batches_[static_cast<size_t>(level)];
    const int number = static_cast<int>(sizes.size());
    sizes.push_back(symbols);
    sums_.AtLevel(level, &sums);
    ParityBatch batch(level, number, plan_.groups, symbols, sizes[0]);
    WriteBatch(&batch, sums, plan_.field_bits, &bits);
  }
  bits.Finish();
  return true;
}

PartitionedDecoder::PartitionedDecoder(const Plan& plan, std::span<const uint64_t> own_hashes)
    : plan_(plan),
      cells_(own_hashes, plan.groups, plan.field_bits),
      own_(plan, cells_),
      field_(Field::OfBits(plan.field_bits)),
      decoder_(field_, own_.rows()),
      found_(plan.groups),
      known_(plan.Checks()),
      decoded_(plan.groups),
      remote_checks_(plan.Checks()),
      batches_(kMostLevels + 1),
      next_level_(plan.raw_levels + 1) {}

bool PartitionedDecoder::ReadSketch(ByteReader* in) {
  BitReader bits(in->Bytes(plan_.SketchBytes()));
  if (!in->ok()) return false;
  registers_.reserve(plan_.groups *
                     ShiftRegister::UsualWords(static_cast<size_t>(plan_.raw_levels)));
  for (uint32_t group = 0; group < plan_.groups; group++) {
    const std::span<const uint32_t> own = own_.OfGroup(group);
    sums_.Clear();
    for (size_t i = 0; i < static_cast<size_t>(plan_.raw_levels); i++) {
      sums_.Add(field_, own[i] ^ static_cast<uint32_t>(bits.Take(plan_.field_bits)));
    }
    if (Decode(group)) continue;
    pending_.push_back(group);
    sums_.Save(&registers_);
  }
  for (size_t i = 0; i < plan_.parity_symbols.size(); i++) {
    const uint32_t symbols = plan_.parity_symbols[i];
    if (symbols == 0) continue;
    const int level = plan_.raw_levels + 1 + static_cast<int>(i);
    ParityBatch batch(level, 0, plan_.groups, symbols, symbols);
    ReadBatch(&batch, plan_.field_bits, &bits);
    batches_[static_cast<size_t>(level)].push_back(std::move(batch));
  }
  for (uint32_t& check : remote_checks_) check = static_cast<uint32_t>(bits.Take(kCheckBits));
  if (!bits.Finished()) in->Fail();
  Climb();
  return in->ok();
}

// If the sums in sums_ are enough.
bool PartitionedDecoder::Decode(uint32_t group) {
  if (!decoder_.Decode(sums_, cells_.Group(group), &ids_)) return false;
  found_[group] = {static_cast<uint32_t>(differing_.size()), static_cast<uint32_t>(ids_.size())};
  differing_.insert(differing_.end(), ids_.begin(), ids_.end());
  decoded_[group] = 1;
  return true;
}

void PartitionedDecoder::Climb() {
  while (!pending_.empty() && next_level_ <= kMostLevels && SolveNextLevel()) {
  }
  Check();
}

// Finds the sums of the pending groups at the next level, and decodes those that it can.
bool PartitionedDecoder::SolveNextLevel() {
  const int level = next_level_;
  std::vector<ParityBatch> batches = batches_[static_cast<size_t>(level)];
  if (batches.empty()) return false;
  uint64_t symbols = 0;
  for (const ParityBatch& batch : batches) symbols += batch.symbols.size();
  if (symbols < pending_.size()) return false;
  // What is known of the sender's sums: our own, corrected by the differences of decoded groups.
  std::vector<uint32_t> known;
  own_.AtLevel(level, &known);
  for (uint32_t group = 0; group < plan_.groups; group++) {
    for (uint32_t id : DifferingCells(group)) known[group] ^= PowerAtLevel(field_, id, level);
    for (ParityBatch& batch : batches) batch.AddToSymbols(group, known[group]);
  }
  std::vector<uint32_t> sums;
  const ParityResult result = SolveLevel(batches, pending_, &sums);
  contradiction_ = result == ParityResult::kContradiction;
  if (result != ParityResult::kSolved) return false;
  next_level_++;
  const PageVector<uint32_t> registers = std::move(registers_);
  registers_.clear();
  registers_.reserve(registers.size() + ShiftRegister::kUsualGrowth * pending_.size());
  const uint32_t* next = registers.data();
  size_t left = 0;
  for (size_t i = 0; i < pending_.size(); i++) {
    const uint32_t group = pending_[i];
    next = sums_.Load(next);
    sums_.Add(field_, sums[i]);
    if (Decode(group)) continue;
    pending_[left++] = group;
    sums_.Save(&registers_);
  }
  pending_.resize(left);
  return true;
}

void PartitionedDecoder::Check() {
  for (uint32_t block = 0; block < plan_.Checks(); block++) {
    if (known_[block]) continue;
    const uint32_t begin = block * kGroupsPerCheck;
    const uint32_t end = std::min<uint64_t>(plan_.groups, uint64_t{begin} + kGroupsPerCheck);
    bool all = true;
    uint32_t check = own_.checks()[block] ^ remote_checks_[block];
    for (uint32_t group = begin; group < end; group++) {
      all &= decoded_[group] != 0;
      for (uint32_t id : DifferingCells(group)) check ^= CellCheck(group, id);
    }
    known_[block] = all && check == 0;
    contradiction_ |= all && check != 0;
  }
}

bool PartitionedDecoder::WantsMore() const {
  return !pending_.empty() && !contradiction_ && requests_ < kMostRequests &&
         next_level_ <= kMostLevels;
}

// For the level at which the climb stopped the number of unknowns is certain; what it says about
// the mean number of differences per group tells how many will be left at the levels above.
void PartitionedDecoder::WriteRequest(ByteWriter* out) {
  const double pending = static_cast<double>(pending_.size());
  // If not one group is decoded, there may be any number of differences: take the fewest.
  const double mean = MeanWith(std::min(pending, plan_.groups - 0.7) / plan_.groups, next_level_);
  const double share = PoissonAtLeast(mean, next_level_);
  requested_.clear();
  for (int level = next_level_; level <= kMostLevels; level++) {
    const double left = pending * PoissonAtLeast(mean, level) / share;
    if (level > next_level_ && left < kAskLevelsUntil) break;
    uint64_t have = 0, first = 0;
    for (const ParityBatch& batch : batches_[static_cast<size_t>(level)]) {
      if (first == 0) first = batch.symbols.size();
      have += batch.symbols.size();
    }
    const bool stuck = level == next_level_;
    uint64_t want = stuck ? SymbolsForKnown(left) : SymbolsForExpected(left);
    if (have > 0 && have * kSmallestShare / 2 < want) have = 0;  // they will not be of use
    if (stuck && have >= want) want = have + 8 + have / 16;
    if (have >= want) continue;
    const uint64_t more = std::max(want - have, have / kSmallestShare + 1);
    requested_.emplace_back(level, static_cast<uint32_t>(std::min<uint64_t>(more, plan_.groups)));
  }
  out->Varint(requested_.size());
  for (const auto& [level, symbols] : requested_) {
    out->Varint(static_cast<uint64_t>(level));
    out->Varint(symbols);
  }
  requests_++;
}

bool PartitionedDecoder::ReadMore(ByteReader* in) {
  uint64_t symbols = 0;
  for (const auto& [level, count] : requested_) symbols += count;
  BitReader bits(in->Bytes((symbols * static_cast<uint64_t>(plan_.field_bits) + 7) / 8));
  if (!in->ok()) return false;
  for (const auto& [level, count] : requested_) {
    std::vector<ParityBatch>& batches = batches_[static_cast<size_t>(level)];
    const size_t first = batches.empty() ? count : batches[0].symbols.size();
    ParityBatch batch(level, static_cast<int>(batches.size()), plan_.groups, count,
                      static_cast<uint32_t>(first));
    ReadBatch(&batch, plan_.field_bits, &bits);
    batches.push_back(std::move(batch));
  }
  requested_.clear();
  if (!bits.Finished()) in->Fail();
  Climb();
  return in->ok();
}

}  // namespace rocksieve::pinsketch
