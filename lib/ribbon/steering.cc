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

// The equation of a row whose first group is `first`, groups counted from the bucket's first.
// In all buckets but the last, nothing lies beyond the last group.
Equation EquationOf(const Row& row, uint64_t first, uint64_t hash) {
  const uint64_t coefficients = row.Coefficients();
  return {(coefficients & 0xFFFF) | (coefficients >> 16 & 0xFF)
                                        << (kSlotsPerGroup * row.ThirdGroupDistance()),
          static_cast<uint32_t>(first * kSlotsPerGroup), Fingerprint(hash)};
}

Equation FoldedEquationOf(const Row& row, uint64_t first, uint64_t hash, uint64_t groups) {
  const auto last_bucket_groups = static_cast<int64_t>(groups);
  const int64_t chunk_groups[3] = {
      static_cast<int64_t>(first), Folded(static_cast<int64_t>(first) + 1, last_bucket_groups),
      Folded(static_cast<int64_t>(first + row.ThirdGroupDistance()), last_bucket_groups)};
  const int64_t leftmost = *std::min_element(chunk_groups, chunk_groups + 3);
  uint64_t coefficients = 0;
  for (int i = 0; i < 3; i++) {
    coefficients |= uint64_t{row.Coefficients() >> (8 * i) & 0xFF}
                    << (kSlotsPerGroup * (chunk_groups[i] - leftmost));
  }
  return {coefficients, static_cast<uint32_t>(leftmost * kSlotsPerGroup), Fingerprint(hash)};
}

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
  Steering(PartitionedHashes* partition, bool thorough, Steered* steered)
      : thorough_(thorough),
        partition_(*partition),
        buckets_(partition->begin_of_part.size() - 1),
        equations_(steered->equations),
        offsets_(steered->offsets) {
    const size_t keys = partition_.hashes.size();
    equations_ = Equations(keys + keys / 128 + 256);
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
      if (Add(length, &added_)) {
        if (BacklogAfter(length) <= kMostBacklog) {
          Advance(length);
          return true;
        }
        equations_.TakeBack(added_);
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
      if (length < 1 || !Add(length, &added_)) continue;
      const int64_t backlog = BacklogAfter(length);
      equations_.TakeBack(added_);
      if (backlog > kMostBacklog) continue;
      // All rows of the bucket and of the backlog before it have a slot: in it, or behind it.
      const int64_t empty = length * kSlotsPerGroup - (RowsToPlace() - backlog);
      if (best == 0 || empty < fewest_empty) best = length, fewest_empty = empty;
      if (empty == 0) break;
    }
    if (best == 0) return SolveNext();
    Add(best, &added_);
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
    if (!Add(length, &added_)) return false;
    const int64_t backlog_before = backlog_;
    Advance(length);
    const int64_t last_length = std::max(kMinLastGroups, AimedLastLength() + spare_groups);
    if (Add(last_length, &added_last_)) {
      Advance(last_length);
      return true;
    }
    equations_.TakeBack(added_);
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
  bool Add(int64_t groups, Equations::Added* added) {
    const Span<const uint64_t> hashes = HashesOf(next_bucket());
    const size_t base = size_t{offsets_.back()} * kSlotsPerGroup;
    const size_t needed = base + static_cast<size_t>(groups + 2 * kGroupsPerRow) * kSlotsPerGroup;
    if (needed > equations_.slots()) equations_.GrowTo(needed + needed / 8);
    SortIntoEquations(hashes, static_cast<uint64_t>(groups), next_bucket() + 1 == buckets_);
    return equations_.Add({sorted_.data(), hashes.size()}, base, added);
  }

  // The next bucket has been added.
  void Advance(int64_t groups) {
    backlog_ = BacklogAfter(groups);
    offsets_.push_back(offsets_.back() + static_cast<uint32_t>(groups));
  }

  // Rows of the next bucket, which has been added, and of those before, that have their slots
  // behind its end; no row reaches farther behind it than this.
  int64_t BacklogAfter(int64_t groups) const {
    constexpr size_t kReach = kGroupsPerRow * kSlotsPerGroup;
    const size_t end = (offsets_.back() + static_cast<size_t>(groups)) * kSlotsPerGroup;
    return static_cast<int64_t>(kReach - equations_.CountFree(end, end + kReach));
  }

  // By first group: from left to right, elimination takes the fewest steps.
  void SortIntoEquations(Span<const uint64_t> hashes, uint64_t groups, bool last) {
    if (sorted_.size() < hashes.size()) sorted_.resize(hashes.size());
    begin_of_group_.assign(groups + 1, 0);
    for (uint64_t hash : hashes) begin_of_group_[Row(hash, groups).FirstGroup(groups) + 1]++;
    for (uint64_t g = 0; g < groups; g++) begin_of_group_[g + 1] += begin_of_group_[g];
    for (uint64_t hash : hashes) {
      const Row row(hash, groups);
      const uint64_t first = row.FirstGroup(groups);
      Equation& equation = sorted_[begin_of_group_[first]++];
      equation = last && first + row.ThirdGroupDistance() >= groups
                     ? FoldedEquationOf(row, first, hash, groups)
                     : EquationOf(row, first, hash);
    }
  }

  const bool thorough_;
  PartitionedHashes& partition_;
  const size_t buckets_;
  Equations& equations_;
  std::vector<uint32_t>& offsets_;
  int64_t backlog_ = 0;  // rows of the buckets before the next that have their slots behind these
  Equations::Added added_, added_last_;
  std::vector<Equation> sorted_;
  std::vector<uint32_t> begin_of_group_;
};

}  // namespace

bool Steer(PartitionedHashes* partition, bool thorough, Steered* steered) {
  return Steering(partition, thorough, steered).Run();
}

}  // namespace rocksieve::ribbon
