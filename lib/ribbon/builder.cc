// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/builder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/ribbon/small_form.h"
#include "lib/ribbon/steering.h"

namespace rocksieve::ribbon {
namespace {

template <typename List>
std::vector<uint64_t> SortedSet(const List& hashes) {
  std::vector<uint64_t> set(hashes.begin(), hashes.end());
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

class PayloadBuilder {
 public:
  PayloadBuilder(const Plan& plan, size_t head_room, size_t tail_room, const Kernel& kernel)
      : plan_(plan), head_room_(head_room), tail_room_(tail_room), kernel_(kernel) {}

  Payload Build(HashList hashes) {
    const size_t count = hashes.size();
    if (count == 0 || count > kMaxKeys) return Empty();
    if (count <= kMaxSmallKeys) return BuildSmall(SortedSet(hashes));
    Solvable solvable;
    PageVector<uint64_t> unsolved;
    if (SteerAll(std::move(hashes), &solvable, &unsolved)) return Finish(solvable, 0);
    // Equal hashes depend on each other, whatever the reseed. They are so rare that nobody looks
    // for them before.
    const std::vector<uint64_t> set = SortedSet(unsolved);
    if (set.size() < count) return Build(HashList(set.begin(), set.end()));
    for (int reseed = 1; reseed <= kMaxReseed; reseed++) {
      HashList reseeded;
      for (uint64_t hash : set) reseeded.push_back(Reseeded(hash, reseed));
      if (SteerAll(std::move(reseeded), &solvable, &unsolved)) return Finish(solvable, reseed);
    }
    return Empty();
  }

 private:
  Payload Empty() const {
    Payload payload;
    payload.data.reset(new char[head_room_ + tail_room_]());
    return payload;
  }

  uint8_t* Allocate(uint64_t size, int columns, int reseed, Payload* payload) const {
    payload->size = size;
    payload->data.reset(new char[head_room_ + size + tail_room_]);
    payload->parameter = static_cast<uint8_t>(columns | reseed << kColumnsBits);
    return reinterpret_cast<uint8_t*>(payload->data.get() + head_room_);
  }

  Payload BuildSmall(const std::vector<uint64_t>& set) const {
    std::vector<uint64_t> hashes(set.size());
    for (int reseed = 0; reseed <= kMaxReseed; reseed++) {
      std::transform(set.begin(), set.end(), hashes.begin(),
                     [reseed](uint64_t hash) { return Reseeded(hash, reseed); });
      const std::optional<SmallSystem> system = SolveSmall(hashes);
      if (!system) continue;
      const int columns = SmallColumnsFor(plan_, set.size());
      Payload payload;
      WriteSmall(*system, columns,
                 Allocate(SmallPayloadBytes(columns, static_cast<int>(set.size())), columns, reseed,
                          &payload));
      return payload;
    }
    return Empty();
  }

  struct Solvable {
    std::vector<uint32_t> offsets;  // first group of each bucket; the last is the number of groups
    std::unique_ptr<Elimination> elimination;
  };

  std::unique_ptr<Elimination> NewElimination(size_t keys, int most_columns) const {
    if (kernel_.blocks != nullptr) {
      return std::make_unique<BlockElimination>(keys, most_columns, *kernel_.blocks);
    }
    return std::make_unique<ChainElimination>(keys, kernel_.back_substitute);
  }

  // If it returns false, `unsolved` has the hashes.
  bool SteerAll(HashList hashes, Solvable* solvable, PageVector<uint64_t>* unsolved) const {
    const uint64_t buckets = BucketsFor(hashes.size());
    PartitionedHashes partition = PartitionHashes(
        std::move(hashes), buckets,
        [buckets](uint64_t hash) { return static_cast<size_t>(BucketIndex(hash, buckets)); });
    // There are not fewer slots than keys, so that the slots are not wider than that.
    const Width width = WidthFor(plan_, partition.hashes.size());
    solvable->elimination.reset();  // before there is another one
    solvable->elimination =
        NewElimination(partition.hashes.size(), width.columns + (width.wide_share > 0 ? 1 : 0));
    if (Steer(&partition, plan_.thorough, solvable->elimination.get(), &solvable->offsets)) {
      return true;
    }
    *unsolved = std::move(partition.hashes);
    return false;
  }

  Payload Finish(const Solvable& solvable, int reseed) const {
    const size_t buckets = solvable.offsets.size() - 1;
    GroupLayout layout;
    layout.groups = solvable.offsets.back();
    const Width width = WidthFor(plan_, layout.groups * kSlotsPerGroup);
    layout.columns = width.columns;
    layout.first_wide_group = static_cast<uint64_t>(
        std::llround((1 - width.wide_share) * static_cast<double>(layout.groups)));

    if (plan_.compact && layout.columns < kMaxColumns) {
      return FinishCompact(solvable, layout, reseed);
    }
    const uint64_t directory_end = kPayloadHeadBytes + DirectoryBytes(buckets);
    Payload payload;
    uint8_t* bytes =
        Allocate(directory_end + layout.Byte(layout.groups), layout.columns, reseed, &payload);
    StoreLittleEndian32(bytes, static_cast<uint32_t>(buckets));
    StoreLittleEndian32(bytes + 4, layout.has_wide_groups()
                                       ? static_cast<uint32_t>(layout.first_wide_group)
                                       : kNoWideGroups);
    WriteDirectory(solvable.offsets, bytes + kPayloadHeadBytes);
    solvable.elimination->BackSubstitute(layout, bytes + directory_end);
    return payload;
  }

  // REQUIRES: there is one anchor.
  Payload FinishCompact(const Solvable& solvable, const GroupLayout& layout, int reseed) const {
    const size_t buckets = solvable.offsets.size() - 1;
    const bool wide = layout.has_wide_groups();
    const uint64_t low_bytes_at = kCompactHeadBytes + (wide ? kCompactWideBytes : 0);
    const uint64_t directory_end = low_bytes_at + buckets + 1;
    Payload payload;
    uint8_t* bytes = Allocate(directory_end + layout.Byte(layout.groups),
                              layout.columns + kCompactBit, reseed, &payload);
    bytes[0] = static_cast<uint8_t>((buckets - 1) | (wide ? kCompactWideFlag : 0));
    bytes[1] = MinusFirstAnchor(solvable.offsets);
    if (wide) {
      StoreLittleEndian16(bytes + kCompactHeadBytes,
                          static_cast<uint16_t>(layout.first_wide_group));
    }
    WriteLowBytes(solvable.offsets, bytes + low_bytes_at);
    solvable.elimination->BackSubstitute(layout, bytes + directory_end);
    return payload;
  }

  const Plan plan_;
  const size_t head_room_, tail_room_;
  const Kernel& kernel_;
};

}  // namespace

Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room,
              const Kernel& kernel) {
  return PayloadBuilder(plan, head_room, tail_room, kernel).Build(std::move(hashes));
}

}  // namespace rocksieve::ribbon
