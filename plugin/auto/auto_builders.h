// SPDX-License-Identifier: Apache-2.0
// What a policy rocksieve.auto:.. makes its builders with.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>

#include "lib/budget/allocation.h"
#include "lib/budget/auto_spec.h"
#include "plugin/auto/decider.h"
#include "plugin/auto/history.h"
#include "plugin/auto/lookup_record.h"

namespace rocksieve {

// Thread-safe. Must outlive the deciders that it makes.
class AutoBuilders {
 public:
  explicit AutoBuilders(const AutoSpec& spec);

  // What a builder assumes until its decider says otherwise. Of the family for ranges, if the spec
  // has one: such a builder can build all.
  const FilterSpec& usual_spec() const { return usual_spec_; }

  bool answers_ranges() const { return range_allocator_ != nullptr; }

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

  const AutoSpec spec_;
  const std::string name_;
  const uint64_t policy_id_;
  const Allocator allocator_;
  const std::unique_ptr<const Allocator> range_allocator_;  // null unless the spec asks for ranges
  FilterSpec usual_spec_;
  History history_;
  const std::unique_ptr<LookupRecord> lookups_;  // null if lookups are to be taken for even

  std::mutex mutex_;
  std::set<TreeId> trees_;  // guarded by mutex_
};

}  // namespace rocksieve
