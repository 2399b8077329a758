#include "lib/filter/build_block.h"

#include <utility>

#include "lib/filter/family.h"
#include "lib/format/block.h"
#include "lib/hash/key_hash.h"

namespace rocksieve {

Budget BudgetOf(const FilterSpec& spec, double factor) {
  Budget budget;
  budget.is_rate = spec.unit == FilterSpec::Unit::kFalsePositiveRate;
  budget.amount = spec.amount;
  budget.factor = factor;
  budget.frame_bits = 8.0 * static_cast<double>(FrameBytesWithoutRange(spec.salted));
  budget.thorough = spec.thorough;
  return budget;
}

FilterBlock BuildBlock(const FilterSpec& spec, double factor, HashList hashes, uint64_t salt,
                       const KeyRange& range) {
  const FamilyEntry& family = *FindFamily(spec.family);
  FilterBlockInfo info;
  info.family = spec.family;
  info.key_count = hashes.size();
  info.salted = spec.salted;
  info.salt = salt;
  const size_t tail_bytes = FrameBytes(spec.salted, range) - kBlockHeaderBytes;
  size_t payload_bytes = 0;
  FilterBlock block;
  block.data = family.build(std::move(hashes), BudgetOf(spec, factor), kBlockHeaderBytes,
                            tail_bytes, &payload_bytes, &info.parameter);
  info.payload = {block.data.get() + kBlockHeaderBytes, payload_bytes};
  block.saturated_fraction = family.saturated_fraction(info);
  block.size = SealBlock(info, payload_bytes, range, block.data.get());
  return block;
}

FilterBlock BuildFilterOfHashes(const FilterSpec& spec, HashList hashes) {
  return BuildBlock(spec, 1, std::move(hashes), kDefaultSalt, KeyRange());
}

}  // namespace rocksieve
