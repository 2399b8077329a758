// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/decider.h"

#include <cstring>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>

#include "lib/budget/hull.h"
#include "plugin/auto/listener.h"
#include "plugin/auto/live_file_registry.h"

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

// Of a file that a listener has announced.
FileTracker TrackerOf(const FileContext& context) {
  const auto numbered = [number = context.file_number,
                         writer = context.writer](RegisteredFile self) {
    self.number = number;
    self.writer = writer;
    return self;
  };
  return {[=](RegisteredFile self, bool complete) {
            return context.registry->Look(context.column_family, context.job,
                                          numbered(std::move(self)), complete);
          },
          [=](RegisteredFile self) {
            context.registry->Register(context.column_family, context.job,
                                       numbered(std::move(self)));
          }};
}

}  // namespace

AutoBudget::AutoBudget(const AutoSpec& policy_spec)
    : spec(policy_spec),
      name(spec.ToString()),
      policy_id(PolicyId(name)),
      allocator(spec.ForAllocator()),
      range_allocator(spec.range_family == Family::kNone
                          ? nullptr
                          : std::make_unique<const Allocator>(spec.ForRangeAllocator())) {}

AutoDecider::~AutoDecider() {
  if (!updated_ && tracker_.update) tracker_.update(SelfWith(0));
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
  self.policy_id = budget_.policy_id;
  return self;
}

double AutoDecider::IndexBitsPerPartition() const {
  return partitioned_ ? 8 * (kIndexEntryBytes + static_cast<double>(last_key_.size())) : 0;
}

double AutoDecider::BitsFor(uint64_t keys, const Allocator& allocator) const {
  const RegisteredFile self = SelfWith(keys);
  Surroundings around;
  if (tracker_.look) around = tracker_.look(self, !partitioned_);
  std::vector<BudgetedFile> files;
  files.reserve(around.others.size() + 1);
  // Bits per entry are for entries with filters of ours, bytes for all filters that there are.
  const uint64_t whose = budget_.spec.bytes == 0 ? budget_.policy_id : 0;
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
    decided_by_ = &budget_.allocator;
    bits_per_key_ = BitsFor(keys, budget_.allocator);
    if (mix != nullptr && budget_.range_allocator != nullptr &&
        RangesPay(budget_.allocator.HullFor(keys), budget_.range_allocator->HullFor(keys), *mix,
                  bits_per_key_)) {
      decided_by_ = budget_.range_allocator.get();
      bits_per_key_ = BitsFor(keys, *budget_.range_allocator);
    }
  }
  const double index_bits = IndexBitsPerPartition() / static_cast<double>(keys == 0 ? 1 : keys);
  const double bits = bits_per_key_ - index_bits;
  const auto choose = [&](const Allocator& allocator) {
    return partitioned_ ? allocator.ChooseForPartition(keys, bits)
                        : allocator.HullFor(keys).Choose(bits);
  };
  FilterChoice choice = choose(*decided_by_);
  // Too few for a filter of ranges, as in small partitions, whose index takes its share.
  if (choice.family == Family::kNone) choice = choose(budget_.allocator);
  if (choice.family == Family::kNone) return false;
  *spec = budget_.spec.SpecFor(choice);
  return true;
}

void AutoDecider::Built(uint64_t keys, uint64_t bytes) {
  keys_built_ += keys;
  bits_built_ += 8 * static_cast<double>(bytes) + IndexBitsPerPartition();
  partitions_++;
  updated_ = false;
  if (lookups_ != nullptr) lookups_->CountBuilt(keys);
  if (!tracker_.update || (partitioned_ && !IsPowerOfFour(partitions_))) return;
  tracker_.update(SelfWith(0));
  updated_ = true;
}

AutoBuilders::AutoBuilders(const AutoSpec& spec)
    : budget_(spec),
      usual_spec_(spec.options),
      lookups_(spec.even || answers_ranges() ? nullptr : std::make_unique<LookupRecord>()) {
  const Allocator& usual = answers_ranges() ? *budget_.range_allocator : budget_.allocator;
  FilterChoice choice = usual.HullFor(uint64_t{1} << 20).Choose(spec.bits_per_entry);
  // Too few bits for any: the smallest that there are.
  if (choice.family == Family::kNone) choice.family = usual.options().families.front();
  usual_spec_ = spec.SpecFor(choice);
}

std::string AutoBuilders::Missing(const rocksdb::DBOptions& options) const {
  if (budget_.spec.bytes == 0) return "";
  for (const std::shared_ptr<rocksdb::EventListener>& listener : options.listeners) {
    if (listener != nullptr && listener->IsInstanceOf(kListenerName)) return "";
  }
  return budget_.name +
         " has a budget of bytes, which is kept only if the live files are known: set the "
         "database's option listeners={rocksieve.listener}, or in C++ add rocksieve::NewListener() "
         "to its listeners; a budget of bits per entry does without, for example rocksieve.auto:10";
}

std::unique_ptr<AutoDecider> AutoBuilders::NewDecider(const rocksdb::FilterBuildingContext& context,
                                                      bool is_bytewise) {
  const FileContext file_context = TakeFileContext();
  FileTracker tracker;
  LookupRecord* lookups = nullptr;
  // Otherwise it is a file outside of any tree, such as an SstFileWriter's.
  if (context.reason != rocksdb::TableFileCreationReason::kMisc) {
    const bool announced = file_context.registry != nullptr &&
                           file_context.column_family == context.column_family_name;
    bool is_only_tree = false;
    if (NoteTree(context, &is_only_tree)) Log(context, announced);
    // Keys of several trees are not told apart.
    if (is_bytewise && is_only_tree) lookups = lookups_.get();
    tracker = announced ? TrackerOf(file_context) : history_.NewTracker(context);
  }
  Outlook outlook;
  outlook.is_flush = context.reason != rocksdb::TableFileCreationReason::kCompaction;
  outlook.rewrites_seldom = context.compaction_style != rocksdb::kCompactionStyleLevel;
  return std::make_unique<AutoDecider>(budget_, context.table_options.partition_filters, outlook,
                                       std::move(tracker), lookups);
}

bool AutoBuilders::NoteTree(const rocksdb::FilterBuildingContext& context, bool* only) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool is_new = trees_.insert({context.info_log, context.column_family_name}).second;
  *only = trees_.size() == 1;
  return is_new;
}

void AutoBuilders::Log(const rocksdb::FilterBuildingContext& context, bool announced) {
  if (context.info_log == nullptr) return;
  const char* what = "the live files, through rocksieve.listener";
  if (!announced) {
    what =
        budget_.spec.bytes == 0
            ? "its own history of built filters, since nothing announces its files; "
              "listeners={rocksieve.listener} makes it exact"
            : "its own history of built filters, since nothing announces its files, and does not "
              "count those from before; a budget of bytes needs listeners={rocksieve.listener}";
  }
  rocksdb::Info(context.info_log, "rocksieve: column family %s: %s follows %s",
                context.column_family_name.c_str(), budget_.name.c_str(), what);
}

void AutoBuilders::ForgetTrees() {
  std::lock_guard<std::mutex> lock(mutex_);
  trees_.clear();
}

}  // namespace rocksieve
