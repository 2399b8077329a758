// SPDX-License-Identifier: Apache-2.0
// What a policy rocksieve.auto:.. makes its builders with, and how the filter of one table file is
// decided on, from the tree around it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>

#include "lib/budget/allocation.h"
#include "lib/budget/auto_spec.h"
#include "lib/range/cells.h"
#include "plugin/auto/history.h"
#include "plugin/auto/live_file_registry.h"
#include "plugin/auto/lookup_sampler.h"

namespace rocksieve {

// What a policy's spec comes to.
struct AutoBudget {
  explicit AutoBudget(const AutoSpec& policy_spec);

  const AutoSpec spec;
  const std::string name;
  const uint64_t policy_id;
  const Allocator allocator;
  const std::unique_ptr<const Allocator> range_allocator;  // null: no filter answers for ranges
};

// Belongs to one builder, and so to one table file.
class AutoDecider {
 public:
  // `budget` must live longer. `partitioned`: the file has many filters, one after the other.
  // `outlook`: all but the bits that the tracker knows. `lookups` of the tree: null if they are to
  // be taken for even.
  AutoDecider(const AutoBudget& budget, bool partitioned, const Outlook& outlook,
              FileTracker tracker, LookupRecord* lookups)
      : budget_(budget),
        partitioned_(partitioned),
        outlook_(outlook),
        tracker_(std::move(tracker)),
        lookups_(lookups) {}
  ~AutoDecider();

  // Sees every key of the filter.
  void AddKey(const rocksdb::Slice& key);

  // No filter block of so many keys is larger, whatever will be decided.
  size_t MostBlockBytes(uint64_t keys) const { return budget_.spec.MostBlockBytes(keys); }

  // The filter of `keys` distinct keys is due. False if there should be none; else sets all of
  // *spec but `salted`. `mix` is what was asked so far, null if no filter can answer for ranges.
  bool Decide(uint64_t keys, const range::QueryMix* mix, FilterSpec* spec);

  // It was built, and takes so many bytes.
  void Built(uint64_t keys, uint64_t bytes);

 private:
  RegisteredFile SelfWith(uint64_t keys) const;
  double BitsFor(uint64_t keys, const Allocator& allocator) const;
  double IndexBitsPerPartition() const;

  const AutoBudget& budget_;
  const bool partitioned_;
  const Outlook outlook_;
  const FileTracker tracker_;
  LookupRecord* const lookups_;

  // Of the whole file so far.
  std::string first_key_, last_key_;
  uint64_t entries_ = 0;
  uint64_t keys_built_ = 0;
  double bits_built_ = 0;
  uint64_t partitions_ = 0;
  // As last decided, and by which.
  double bits_per_key_ = 0;
  const Allocator* decided_by_ = nullptr;
  bool updated_ = true;  // the tracker knows all of this
};

// Thread-safe. Must outlive the deciders that it makes.
class AutoBuilders {
 public:
  explicit AutoBuilders(const AutoSpec& spec);

  // What a builder assumes until its decider says otherwise. Of the family for ranges, if the spec
  // has one: such a builder can build all.
  const FilterSpec& usual_spec() const { return usual_spec_; }

  bool answers_ranges() const { return budget_.range_allocator != nullptr; }

  // What a database with these options must have before the budget can be kept; empty if nothing.
  std::string Missing(const rocksdb::DBOptions& options) const;

  // `is_bytewise`: the order of keys is known to be.
  std::unique_ptr<AutoDecider> NewDecider(const rocksdb::FilterBuildingContext& context,
                                          bool is_bytewise);

  // Hears what is asked of readers; null if lookups are to be taken for even.
  std::shared_ptr<LookupSampler> lookup_sampler() const {
    return lookups_ == nullptr ? nullptr : lookups_->sampler();
  }

  // A database is about to be opened: its log is to say again how it is followed, and trees of
  // databases that were closed are no longer counted.
  void ForgetTrees();

 private:
  // A tree's column family, by its name and its database's log.
  using TreeId = std::pair<const void*, std::string>;

  // False if it was seen before. *only: whether no other one was.
  bool NoteTree(const rocksdb::FilterBuildingContext& context, bool* only);
  void Log(const rocksdb::FilterBuildingContext& context, bool announced);

  const AutoBudget budget_;
  FilterSpec usual_spec_;
  History history_;
  const std::unique_ptr<LookupRecord> lookups_;  // null if lookups are to be taken for even

  std::mutex mutex_;
  std::set<TreeId> trees_;  // guarded by mutex_
};

}  // namespace rocksieve
