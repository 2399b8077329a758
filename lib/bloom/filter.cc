// SPDX-License-Identifier: Apache-2.0
#include "lib/bloom/filter.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace rocksieve::bloom {
namespace {

// The masks of a line take 512 bytes, so lines are built in runs whose masks stay in the L1 cache
// or, in large filters, in the L2 cache; and, but for very large ones, in about a thousand runs, so
// that the partition writes to few places at once.
constexpr int kSmallestRunLog2 = 5, kLargestRunLog2 = 9;

int LinesPerRunLog2(uint64_t lines) {
  int log2 = kSmallestRunLog2;
  while ((lines >> log2) > 1024 && log2 < kLargestRunLog2) log2++;
  return log2;
}

}  // namespace

Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room,
              const Kernel& kernel) {
  Payload built;
  built.size = PayloadBytes(plan);
  built.parameter = static_cast<uint8_t>(plan.probes | (plan.thorough ? kThoroughFlag : 0));
  built.data.reset(new char[head_room + built.size + tail_room]);
  if (plan.lines == 0) return built;
  auto* const payload = reinterpret_cast<uint8_t*>(built.data.get() + head_room);
  const int log2 = LinesPerRunLog2(plan.lines);
  const uint64_t lines_per_run = uint64_t{1} << log2;
  const size_t runs = (plan.lines + lines_per_run - 1) >> log2;
  const PartitionedHashes parts = PartitionHashes(std::move(hashes), runs, [&](uint64_t hash) {
    return static_cast<size_t>(LineIndex(hash, plan.lines) >> log2);
  });

  const auto choose_seeds = plan.thorough ? kernel.choose_seeds_thoroughly : kernel.choose_seeds;
  const auto masks = std::make_unique<LineMasks[]>(std::min(lines_per_run, plan.lines));
  for (size_t run = 0; run < runs; run++) {
    const uint64_t first_line = run << log2;
    const uint64_t lines = std::min(lines_per_run, plan.lines - first_line);
    std::memset(masks.get(), 0, lines * sizeof(LineMasks));
    const size_t begin = parts.begin_of_part[run];
    kernel.add_keys(parts.hashes.data() + begin, parts.begin_of_part[run + 1] - begin, plan.probes,
                    plan.lines, first_line, masks.get());
    for (uint64_t i = 0; i < lines; i++) {
      choose_seeds(masks[i], payload + (first_line + i) * kLineBytes);
    }
  }
  return built;
}

namespace {

class BloomFilter final : public LineArray {
 public:
  BloomFilter(const FilterBlockInfo& info, const Queries& queries)
      : LineArray(reinterpret_cast<const uint8_t*>(info.payload.data()),
                  info.payload.size() / kLineBytes, info.salt, queries.one),
        many_(queries.many) {}

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    many_(*this, hashes, count, may_contain);
  }

 private:
  decltype(Queries::many) const many_;
};

}  // namespace

std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel) {
  const uint64_t lines = info.payload.size() / kLineBytes;
  if (info.payload.size() % kLineBytes != 0 || lines == 0 || lines > UINT32_MAX) return nullptr;
  if (!IsProbeCount(ProbesOf(info.parameter))) return nullptr;
  return std::make_unique<BloomFilter>(info, kernel.queries_for(ProbesOf(info.parameter)));
}

}  // namespace rocksieve::bloom
