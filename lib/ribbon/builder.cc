// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/builder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "lib/format/payload.h"
#include "lib/ribbon/elimination.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {
namespace {

constexpr int64_t kMinLastGroups = kGroupsPerRow;  // rows are folded into the last bucket
constexpr int kTriesBeforeLast = 8;
constexpr int kMostSpareGroups = 64;

// Lengths of a bucket other than the last, in the order in which they are tried: as aimed, 1 more,
// 1 less, 2 more, 3 more .. May be less than 1. Never 2 less: a backlog that much larger can leave
// no free slot where the first rows of the next bucket are, under any length.
int64_t TriedLength(int64_t aimed, int attempt) {
  if (attempt < 2) return aimed + attempt;
  return attempt == 2 ? aimed - 1 : aimed + attempt - 1;
}

bool SortAndFindDuplicates(Span<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  return std::adjacent_find(hashes.begin(), hashes.end()) != hashes.end();
}

// Finds the length of every bucket, one after another, so that all equations can be solved.
class Steering {
 public:
  // `offsets` become the first group of each bucket, and the number of groups; all equations are
  // added to `elimination`, which is new. The bucket of a hash is BucketIndex(hash, buckets). What
  // is found depends on the set of hashes, the number of buckets (at least 2) and `thorough` only.
  // The partition's order inside a bucket may change.
  Steering(PartitionedHashes* partition, bool thorough, Elimination* elimination,
           std::vector<uint32_t>* offsets)
      : thorough_(thorough),
        partition_(*partition),
        buckets_(partition->begin_of_part.size() - 1),
        elimination_(*elimination),
        offsets_(*offsets) {
    offsets_.assign(1, 0);
    offsets_.reserve(buckets_ + 1);
  }

  // Once. False if there is no solution, which is so if a hash is there twice.
  bool Run() {
    for (size_t bucket = 0; bucket < buckets_; bucket++) {
      if (HashesOf(bucket).size() > kMostKeysOfBucket) return false;
    }
    for (size_t bucket = 0; bucket + 2 < buckets_; bucket++) {
      if (!(thorough_ ? SolveNextThoroughly() : SolveNext())) return false;
    }
    return SolveLastTwo() && DirectoryHolds(offsets_);
  }

 private:
  // The next bucket is the one whose first group is the last of the offsets.
  size_t next_bucket() const { return offsets_.size() - 1; }

  Span<uint64_t> HashesOf(size_t bucket) {
    return {partition_.hashes.data() + partition_.begin_of_part[bucket],
            partition_.hashes.data() + partition_.begin_of_part[bucket + 1]};
  }

  bool SolveNext() {
    const int64_t aimed = AimedLength();
    for (int attempt = 0; attempt < kMostTries; attempt++) {
      const int64_t length = TriedLength(aimed, attempt);
      if (length < 1) continue;
      if (Add(length)) {
        if (elimination_.Backlog() <= kMostBacklog) {
          Advance(length);
          return true;
        }
        elimination_.TakeBack();
      }
      // Equal hashes depend on each other under any length. Sorting takes as long as some tries.
      if (attempt == 3 && SortAndFindDuplicates(HashesOf(next_bucket()))) return false;
    }
    return false;
  }

  // Of the first few lengths that can be solved, the one that leaves the fewest slots empty.
  bool SolveNextThoroughly() {
    const int64_t aimed = AimedLength();
    int64_t best = 0;
    int64_t fewest_empty = 0;
    for (int attempt = 0; attempt < kThoroughTries; attempt++) {
      const int64_t length = TriedLength(aimed, attempt);
      if (length < 1 || !Add(length)) continue;
      const int64_t backlog = elimination_.Backlog();
      elimination_.TakeBack();
      if (backlog > kMostBacklog) continue;
      // All rows of the bucket and of the backlog before it have a slot: in it, or behind it.
      const int64_t empty = length * kSlotsPerGroup - (RowsToPlace() - backlog);
      if (best == 0 || empty < fewest_empty) best = length, fewest_empty = empty;
      if (empty == 0) break;
    }
    if (best == 0) return SolveNext();
    Add(best);
    Advance(best);
    return true;
  }

  // The last bucket cannot leave a backlog: its slots must suffice for all that is left. So that it
  // needs few slots to spare, several lengths of the bucket before are tried with each of its own;
  // ever more of them, since one in a million has needed more than the first eight.
  bool SolveLastTwo() {
    const int64_t aimed = AimedLength();
    for (int spare_groups = 0; spare_groups < kMostSpareGroups; spare_groups++) {
      for (int attempt = 0; attempt < kTriesBeforeLast + spare_groups; attempt++) {
        const int64_t length = TriedLength(aimed, attempt);
        if (length >= 1 && SolveLastTwoWith(length, spare_groups)) return true;
      }
      if (spare_groups == 0 && (SortAndFindDuplicates(HashesOf(buckets_ - 2)) ||
                                SortAndFindDuplicates(HashesOf(buckets_ - 1)))) {
        return false;
      }
    }
    return false;
  }

  bool SolveLastTwoWith(int64_t length, int64_t spare_groups) {
    if (!Add(length)) return false;
    const int64_t backlog_before = backlog_;
    Advance(length);
    const int64_t last_length = std::max(kMinLastGroups, AimedLastLength() + spare_groups);
    if (Add(last_length)) {
      Advance(last_length);
      return true;
    }
    elimination_.TakeBack();
    backlog_ = backlog_before;
    offsets_.pop_back();
    return false;
  }

  int64_t RowsToPlace() { return backlog_ + static_cast<int64_t>(HashesOf(next_bucket()).size()); }
  // To the nearest group.
  int64_t AimedLength() {
    constexpr int64_t kRounding = kSlotsPerGroup / 2;
    return std::max<int64_t>(1, (RowsToPlace() - kBacklog + kRounding) / kSlotsPerGroup);
  }
  int64_t AimedLastLength() { return (RowsToPlace() + kSlotsPerGroup - 1) / kSlotsPerGroup; }

  // Adds the equations of the next bucket if they can be solved with so many groups.
  bool Add(int64_t groups) {
    return elimination_.AddBucket(HashesOf(next_bucket()), static_cast<uint64_t>(groups),
                                  next_bucket() + 1 == buckets_);
  }

  // The next bucket has been added.
  void Advance(int64_t groups) {
    backlog_ = elimination_.Backlog();
    offsets_.push_back(offsets_.back() + static_cast<uint32_t>(groups));
  }

  const bool thorough_;
  PartitionedHashes& partition_;
  const size_t buckets_;
  Elimination& elimination_;
  std::vector<uint32_t>& offsets_;
  int64_t backlog_ = 0;  // rows of the buckets before the next that have their slots behind these
};

std::vector<uint64_t> SortedSet(std::vector<uint64_t> set) {
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
    if (count <= kMaxSmallKeys) {
      std::vector<uint64_t> few;
      hashes.ForEach([&](uint64_t hash) { few.push_back(hash); });
      return BuildSmall(SortedSet(std::move(few)));
    }
    Solvable solvable;
    PageVector<uint64_t> unsolved;
    if (SteerAll(std::move(hashes), &solvable, &unsolved)) return Finish(solvable, 0);
    // Equal hashes depend on each other, whatever the reseed. They are so rare that nobody looks
    // for them before.
    const std::vector<uint64_t> set = SortedSet({unsolved.begin(), unsolved.end()});
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
    const int columns = SmallColumnsFor(plan_, set.size());
    const uint64_t bytes = SmallPayloadBytes(columns, static_cast<int>(set.size()));
    std::vector<uint64_t> hashes(set.size());
    for (int reseed = 0; reseed <= kMaxReseed; reseed++) {
      std::transform(set.begin(), set.end(), hashes.begin(),
                     [reseed](uint64_t hash) { return Reseeded(hash, reseed); });
      Payload payload;
      if (WriteSmall(hashes, columns, Allocate(bytes, columns, reseed, &payload))) return payload;
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
    Steering steering(&partition, plan_.thorough, solvable->elimination.get(), &solvable->offsets);
    if (steering.Run()) return true;
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

    const bool compact = plan_.compact && layout.columns < kMaxColumns;
    const bool wide = layout.has_wide_groups();
    const uint64_t head_bytes =
        compact ? kCompactHeadBytes + (wide ? kCompactWideBytes : 0) : kPayloadHeadBytes;
    const uint64_t directory_end = head_bytes + (compact ? buckets + 1 : DirectoryBytes(buckets));
    Payload payload;
    uint8_t* bytes = Allocate(directory_end + layout.Byte(layout.groups),
                              layout.columns + (compact ? kCompactBit : 0), reseed, &payload);
    if (compact) {  // so there is one anchor
      bytes[0] = static_cast<uint8_t>((buckets - 1) | (wide ? kCompactWideFlag : 0));
      bytes[1] = MinusFirstAnchor(solvable.offsets);
      if (wide) {
        StoreLittleEndian16(bytes + kCompactHeadBytes,
                            static_cast<uint16_t>(layout.first_wide_group));
      }
      WriteLowBytes(solvable.offsets, bytes + head_bytes);
    } else {
      StoreLittleEndian32(bytes, static_cast<uint32_t>(buckets));
      StoreLittleEndian32(bytes + 4,
                          wide ? static_cast<uint32_t>(layout.first_wide_group) : kNoWideGroups);
      WriteDirectory(solvable.offsets, bytes + head_bytes);
    }
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
