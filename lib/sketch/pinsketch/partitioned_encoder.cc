#include <utility>

#include "lib/format/bit_io.h"
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"

namespace rocksieve::pinsketch {
namespace {

void WriteBatch(ParityBatch* batch, const std::vector<uint32_t>& sums, int field_bits,
                BitWriter* bits) {
  for (uint32_t group = 0; group < batch->groups; group++) batch->AddToSymbols(group, sums[group]);
  for (uint32_t symbol : batch->symbols) bits->Put(symbol, field_bits);
}

}  // namespace

PartitionedEncoder::PartitionedEncoder(const Plan& plan, std::span<const uint64_t> hashes)
    : plan_(plan), sums_(plan, hashes), batches_(kMostLevels + 1) {
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

}  // namespace rocksieve::pinsketch
