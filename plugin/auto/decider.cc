// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/decider.h"

#include <cstring>
#include <utility>
#include <vector>

#include "lib/budget/hull.h"

namespace rocksieve {
namespace {

// Of a partition's entry in the filter's index, beside its key: sequence number, handle, lengths.
constexpr double kIndexEntryBytes = 14;

// Whether to look at the tree again: the more of the file is known the better the decision, but
// each takes as long as building the filter of some thousand keys.
bool IsPowerOfFour(uint64_t number) {
  while (number > 1 && number % 4 == 0) number /= 4;
  return number == 1;
}

// `policy_id`: whose filters take of the budget; 0: all.
BudgetedFile Describe(const RegisteredFile& file, uint64_t policy_id) {
  BudgetedFile described;
  described.smallest = file.range->smallest;
  described.largest = file.range->largest;
  described.entries = file.entries;
  described.filter_keys = file.filter_keys;
  described.filter_bits = file.filter_bits;
  described.budgeted = policy_id == 0 ? file.policy_id != 0 : file.policy_id == policy_id;
  return described;
}

}  // namespace

AutoDecider::AutoDecider(const AutoSpec& spec, const Allocator& allocator,
                         const Allocator* range_allocator, uint64_t policy_id, bool partitioned,
                         const Outlook& outlook, std::unique_ptr<FileTracker> tracker,
                         LookupRecord* lookups)
    : spec_(spec),
      allocator_(allocator),
      range_allocator_(range_allocator),
      policy_id_(policy_id),
      partitioned_(partitioned),
      outlook_(outlook),
      tracker_(std::move(tracker)),
      lookups_(lookups) {}

AutoDecider::~AutoDecider() {
  if (!updated_ && tracker_ != nullptr) tracker_->Update(SelfWith(0));
}

void AutoDecider::AddKey(const rocksdb::Slice& key) {
  // A prefix comes right after its key, and is no entry of the table. In the order of keys nothing
  // else is a proper prefix of what comes before it.
  if (key.size() < last_key_.size() && std::memcmp(key.data(), last_key_.data(), key.size()) == 0) {
    return;
  }
  if (entries_++ == 0) first_key_.assign(key.data(), key.size());
  last_key_.assign(key.data(), key.size());
}

RegisteredFile AutoDecider::SelfWith(uint64_t keys) const {
  RegisteredFile self;
  self.range = std::make_shared<const UserKeyRange>(UserKeyRange{first_key_, last_key_});
  self.entries = entries_;
  self.filter_keys = keys_built_ + keys;
  self.filter_bits = bits_built_;
  self.policy_id = policy_id_;
  return self;
}

double AutoDecider::IndexBitsPerPartition() const {
  return partitioned_ ? 8 * (kIndexEntryBytes + static_cast<double>(last_key_.size())) : 0;
}

double AutoDecider::BitsFor(uint64_t keys, const Allocator& allocator) const {
  const RegisteredFile self = SelfWith(keys);
  Surroundings around;
  if (tracker_ != nullptr) around = tracker_->Look(self, !partitioned_);
  std::vector<BudgetedFile> files;
  files.reserve(around.others.size() + 1);
  // Bits per entry are for entries with filters of ours, bytes for all filters that there are.
  const uint64_t whose = spec_.bytes == 0 ? policy_id_ : 0;
  for (const RegisteredFile& other : around.others) files.push_back(Describe(other, whose));
  files.push_back(Describe(self, whose));
  BudgetedFile& next = files.back();
  next.filter_bits = -1;
  if (around.entries_to_come > 0) {
    next.entries += around.entries_to_come;
    next.filter_keys += around.entries_to_come;
    next.largest = around.largest_to_come;
  }
  Outlook outlook = outlook_;
  outlook.freed_bits = around.freed_bits;
  std::shared_ptr<const LookupDensity> density;
  if (lookups_ != nullptr) density = lookups_->Density(files);
  outlook.lookups = density.get();
  return allocator.DecideBits(files, files.size() - 1, outlook);
}

bool AutoDecider::Decide(uint64_t keys, const range::QueryMix* mix, FilterSpec* spec) {
  if (IsPowerOfFour(partitions_ + 1)) {
    decided_by_ = &allocator_;
    bits_per_key_ = BitsFor(keys, allocator_);
    if (mix != nullptr && range_allocator_ != nullptr &&
        RangesPay(allocator_.HullFor(keys), range_allocator_->HullFor(keys), *mix, bits_per_key_)) {
      decided_by_ = range_allocator_;
      bits_per_key_ = BitsFor(keys, *range_allocator_);
    }
  }
  const double index_bits = IndexBitsPerPartition() / static_cast<double>(keys == 0 ? 1 : keys);
  const double bits = bits_per_key_ - index_bits;
  FilterChoice choice = decided_by_->HullFor(keys).Choose(bits);
  // Too few for a filter of ranges, as in small partitions, whose index takes its share.
  if (choice.family == Family::kNone) choice = allocator_.HullFor(keys).Choose(bits);
  if (choice.family == Family::kNone) return false;
  *spec = spec_.SpecFor(choice);
  return true;
}

void AutoDecider::Built(uint64_t keys, uint64_t bytes) {
  keys_built_ += keys;
  bits_built_ += 8 * static_cast<double>(bytes) + IndexBitsPerPartition();
  partitions_++;
  updated_ = false;
  if (lookups_ != nullptr) lookups_->CountBuilt(keys);
  if (tracker_ == nullptr || (partitioned_ && !IsPowerOfFour(partitions_))) return;
  tracker_->Update(SelfWith(0));
  updated_ = true;
}

}  // namespace rocksieve
