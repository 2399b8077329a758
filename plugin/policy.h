// The FilterPolicy: makes builders for new tables, and readers for blocks of ours and of others.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include <rocksdb/filter_policy.h>

#include <rocksieve/filter_policy.h>
#include <rocksieve/filter_spec.h>

#include "plugin/auto/auto_builders.h"
#include "plugin/counters.h"
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
  // is still there when somebody listens.
  Policy(std::string spec_text, std::string error);

  // The spec, which is what options print and what builds the same policy again.
  const char* Name() const override { return stands_in_ ? builtin_->Name() : spec_text_.c_str(); }
  std::string GetId() const override { return stands_in_ ? builtin_->GetId() : spec_text_; }
  bool IsInstanceOf(const std::string& name) const override;

  // The built-in one: an SST stores its filter under this name, and the filters that a database
  // already has would be lost under any other. With the option own-name, "rocksieve".
  const char* CompatibilityName() const override;

  // InvalidArgument if the spec, or a property that came with it, cannot be honoured. If it came by
  // SetOptions(), which swallows that and gives the policy to the open database, this one builds
  // RocksDB's Bloom filters from then on, under their name, and says so in the log and on stderr.
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
  // If `options` are those of SetOptions(). REQUIRES: there is an error.
  void StandInIfLive(const rocksdb::ConfigOptions& options);

  const FilterSpec spec_;
  const std::string spec_text_;
  // Set once databases may rely on the policy: from then on nothing about it changes.
  mutable std::atomic<bool> in_use_{false};
  std::string error_;       // empty, or why this policy must not be used
  bool stands_in_ = false;  // builds what builtin_ builds
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_{rocksdb::NewBloomFilterPolicy(10)};
  const std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
  const std::unique_ptr<AutoBuilders> auto_;  // null unless the spec is rocksieve.auto
};

}  // namespace rocksieve
