#include "lib/filter/hashed_filter.h"

#include <utility>

#include "lib/filter/family.h"
#include "lib/format/block.h"
#include "lib/format/key_range.h"

namespace rocksieve {

FilterBlock BuildFilterOfHashes(const FilterSpec& spec, HashList hashes) {
  const FamilyEntry& family = *FindFamily(spec.family);
  const KeyRange no_range{};
  FilterBlockInfo info;
  info.family = spec.family;
  info.key_count = hashes.size();
  Budget budget;
  budget.is_rate = spec.unit == FilterSpec::Unit::kFalsePositiveRate;
  budget.amount = spec.amount;
  budget.frame_bits = 8.0 * static_cast<double>(FrameBytesWithoutRange(false));
  budget.thorough = spec.thorough;
  const size_t tail_bytes = FrameBytes(false, no_range) - kBlockHeaderBytes;
  size_t payload_bytes = 0;
  FilterBlock block;
  block.data = family.build(std::move(hashes), budget, kBlockHeaderBytes, tail_bytes,
                            &payload_bytes, &info.parameter);
  info.payload = {block.data.get() + kBlockHeaderBytes, payload_bytes};
  block.unfiltered_share = family.unfiltered_share(info);
  block.size = SealBlock(info, payload_bytes, no_range, block.data.get());
  return block;
}

}  // namespace rocksieve
