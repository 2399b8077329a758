// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/steering.h"

#include <algorithm>

#include "lib/format/span.h"
#include "lib/ribbon/directory.h"
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

class Steering {
 public:
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

}  // namespace

bool Steer(PartitionedHashes* partition, bool thorough, Elimination* elimination,
           std::vector<uint32_t>* offsets) {
  return Steering(partition, thorough, elimination, offsets).Run();
}

}  // namespace rocksieve::ribbon
