// SPDX-License-Identifier: Apache-2.0
// The FilterPolicy: makes builders for new tables, and readers for blocks of ours and of others.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include <rocksdb/filter_policy.h>

#include <rocksieve/filter.h>
#include <rocksieve/filter_policy.h>
#include <rocksieve/filter_spec.h>

#include "plugin/auto/decider.h"
#include "plugin/counters.h"
#include "plugin/range/extractors.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {

class Policy final : public rocksdb::FilterPolicy {
 public:
  explicit Policy(const FilterSpec& spec);

  // The policy that follows the tree.
  explicit Policy(const AutoSpec& spec);

  // A policy that stands for a spec that cannot be honoured, and says so when options are prepared
  // or a database is opened with it. RocksDB's option parser swallows the error of a factory and
  // goes on without a filter (BlockBasedTableFactory::ParseOption), so there must be an object that
  // is still there when somebody listens. Some never do, such as SetOptions() since RocksDB 9.8:
  // who asks such a policy for a builder gets RocksDB's own Bloom filters of 10 bits per key, under
  // their name, and is told so in the log and on stderr.
  Policy(std::string spec_text, std::string error);

  // The spec, which is what options print and what builds the same policy again; of a wrong one
  // RocksDB's, so that the options file of a database names what is used and can be opened again.
  const char* Name() const override {
    return error_.empty() ? spec_text_.c_str() : builtin_->Name();
  }
  std::string GetId() const override { return error_.empty() ? spec_text_ : builtin_->GetId(); }
  bool IsInstanceOf(const std::string& name) const override;

  // The built-in one: an SST stores its filter under this name, and the filters that a database
  // already has would be lost under any other. With the option own-name, "rocksieve".
  const char* CompatibilityName() const override;

  // InvalidArgument if the spec, or a property that came with it, cannot be honoured.
  rocksdb::Status PrepareOptions(const rocksdb::ConfigOptions& options) override;
  rocksdb::Status ValidateOptions(const rocksdb::DBOptions& db_options,
                                  const rocksdb::ColumnFamilyOptions& cf_options) const override;

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override;
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice& contents) const override;

  FilterStats stats() const { return counters_->stats(); }

 protected:
  rocksdb::Status ConfigureOptions(const rocksdb::ConfigOptions& options,
                                   const std::unordered_map<std::string, std::string>& properties,
                                   std::unordered_map<std::string, std::string>* unused) override;

 private:
  rocksdb::Status ErrorStatus() const;
  // Whether filters may answer for ranges, by the spec.
  bool AnswersRanges() const;
  // Of an intact block.
  std::unique_ptr<rocksdb::FilterBitsReader> NewReader(OpenedFilter opened) const;
  // Takes notice of a column family's comparator.
  void NoteComparator(const rocksdb::DBOptions& db_options,
                      const rocksdb::ColumnFamilyOptions& cf_options) const;
  // RocksDB says nothing where options ask for partitions without the index that these need.
  void WarnOfPartitions(const rocksdb::FilterBuildingContext& context) const;
  // Of the first use, to what ROCKSIEVE_METRICS shows.
  void Announce() const;

  const FilterSpec spec_;
  const std::string spec_text_;
  // Set once databases may rely on the policy: from then on nothing about it changes.
  mutable std::atomic<bool> in_use_{false};
  std::string error_;  // empty, or why this policy must not be used
  mutable std::atomic<bool> error_told_{false};
  mutable std::atomic<bool> announced_{false};
  mutable std::atomic<bool> partitions_told_{false};
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_{rocksdb::NewBloomFilterPolicy(10)};
  const std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
  const std::shared_ptr<KeyOrder> order_ = std::make_shared<KeyOrder>();
  const std::shared_ptr<QuerySampler> sampler_ = std::make_shared<QuerySampler>();
  const std::unique_ptr<AutoBuilders> auto_;  // null unless the spec is rocksieve.auto
};

}  // namespace rocksieve
