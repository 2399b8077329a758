// SPDX-License-Identifier: Apache-2.0
#include "plugin/policy.h"

#include <cstdio>
#include <utility>

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksieve/filter.h>

#include "lib/filter/family.h"

#include "plugin/counters.h"
#include "plugin/filter_bits.h"
#include "plugin/range/extractors.h"

namespace rocksieve {
namespace {

constexpr const char* kClassName = "rocksieve";

// A built-in filter of up to five bytes means "no keys", and would lose them if it is really the
// stump of a block of ours.
constexpr size_t kSmallestBuiltinBlock = 6;

}  // namespace

Policy::Policy(const FilterSpec& spec) : spec_(spec), spec_text_(spec.ToString()) {}

Policy::Policy(const AutoSpec& spec)
    : spec_(spec.options),
      spec_text_(spec.ToString()),
      auto_(std::make_unique<AutoBuilders>(spec)) {}

Policy::Policy(std::string spec_text, std::string error)
    : spec_text_(std::move(spec_text)), error_(std::move(error)) {}

bool Policy::IsInstanceOf(const std::string& name) const {
  return name == kClassName || name == spec_text_ || rocksdb::FilterPolicy::IsInstanceOf(name);
}

const char* Policy::CompatibilityName() const {
  return spec_.own_name ? kClassName : builtin_->CompatibilityName();
}

rocksdb::Status Policy::ErrorStatus() const {
  return error_.empty() ? rocksdb::Status::OK() : rocksdb::Status::InvalidArgument(error_);
}

bool Policy::AnswersRanges() const {
  return auto_ != nullptr ? auto_->answers_ranges()
                          : FindFamily(spec_.family)->build_of_keys != nullptr;
}

void Policy::NoteComparator(const rocksdb::DBOptions& db_options,
                            const rocksdb::ColumnFamilyOptions& cf_options) const {
  order_->Note(cf_options.comparator == rocksdb::BytewiseComparator());
  if (!AnswersRanges()) return;
  const char* hint = nullptr;
  if (order_->is_other()) {
    hint = "the comparator is not RocksDB's bytewise one: its filters answer for keys, not ranges";
  } else if (!kRangesAreChecked) {
    hint = "RocksDB is older than 7.4: its filters answer for keys, not ranges";
  }
  if (hint != nullptr && db_options.info_log != nullptr) {
    rocksdb::Warn(db_options.info_log, "%s: %s", spec_text_.c_str(), hint);
  }
}

void Policy::Announce() const {
  if (announced_.load(std::memory_order_relaxed) || announced_.exchange(true)) return;
  if (ProcessMetrics* const process = ProcessMetrics::IfWanted()) {
    process->AddPolicy(spec_text_, counters_);
  }
}

rocksdb::Status Policy::PrepareOptions(const rocksdb::ConfigOptions& options) {
  return error_.empty() ? rocksdb::FilterPolicy::PrepareOptions(options) : ErrorStatus();
}

rocksdb::Status Policy::ValidateOptions(const rocksdb::DBOptions& db_options,
                                        const rocksdb::ColumnFamilyOptions& cf_options) const {
  if (!error_.empty()) return ErrorStatus();
  const std::string missing = auto_ == nullptr ? "" : auto_->Missing(db_options);
  if (!missing.empty()) return rocksdb::Status::InvalidArgument(missing);
  in_use_ = true;
  if (ProcessMetrics* const process = ProcessMetrics::IfWanted()) {
    process->AddStatistics(db_options.statistics);
  }
  Announce();
  if (auto_ != nullptr) auto_->ForgetTrees();
  NoteComparator(db_options, cf_options);
  // A file that failed between its filter and its properties has left this on the thread, on which
  // the options are written next.
  RangeExtractor::FilterIsBuilt();
  return rocksdb::FilterPolicy::ValidateOptions(db_options, cf_options);
}

rocksdb::Status Policy::ConfigureOptions(
    const rocksdb::ConfigOptions& options,
    const std::unordered_map<std::string, std::string>& properties,
    std::unordered_map<std::string, std::string>* unused) {
  for (const auto& [name, value] : properties) {
    if (name == "id") continue;
    const std::string error = "\"" + name + "=" + value +
                              "\" cannot be set: a rocksieve filter policy has no " +
                              "properties, all is in its spec; for example " + spec_text_;
    // SetOptions() comes here with the policy that the database is using. Without this line the
    // error would turn its filters off.
    if (in_use_) return rocksdb::Status::InvalidArgument(error);
    if (error_.empty()) error_ = error;
  }
  return rocksdb::FilterPolicy::ConfigureOptions(options, properties, unused);
}

void Policy::WarnOfPartitions(const rocksdb::FilterBuildingContext& context) const {
  const rocksdb::BlockBasedTableOptions& table = context.table_options;
  const bool wanted =
      table.partition_filters ||
      table.metadata_block_size != rocksdb::BlockBasedTableOptions().metadata_block_size;
  if (!wanted || table.index_type == rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch ||
      context.info_log == nullptr || partitions_told_.exchange(true)) {
    return;
  }
  rocksdb::Warn(context.info_log,
                "rocksieve: filters are not partitioned: partition_filters=true needs "
                "index_type=kTwoLevelIndexSearch, without which RocksDB takes it for false; "
                "metadata_block_size=%llu has no effect",
                static_cast<unsigned long long>(table.metadata_block_size));
}

rocksdb::FilterBitsBuilder* Policy::GetBuilderWithContext(
    const rocksdb::FilterBuildingContext& context) const {
  if (!error_.empty()) {
    // Only what did not listen comes here: SetOptions(), SstFileWriter.
    if (!error_told_.exchange(true)) {
      const std::string told =
          "rocksieve: a wrong filter_policy was taken. Until it is set again, files get RocksDB's "
          "own Bloom filters of 10 bits per key instead: " +
          error_;
      std::fprintf(stderr, "%s\n", told.c_str());
      if (context.info_log != nullptr) rocksdb::Warn(context.info_log, "%s", told.c_str());
    }
    return builtin_->GetBuilderWithContext(context);
  }
  in_use_ = true;
  Announce();
  WarnOfPartitions(context);
  if (auto_ != nullptr) {
    return new BitsBuilder(auto_->usual_spec(), context, counters_, order_, sampler_,
                           auto_->NewDecider(context, order_->is_bytewise()));
  }
  return new BitsBuilder(spec_, context, counters_, order_, sampler_);
}

std::unique_ptr<rocksdb::FilterBitsReader> Policy::NewReader(OpenedFilter opened) const {
  const bool is_of_hashes = FindFamily(opened.info.family)->build_of_keys == nullptr;
  // With rocksieve.auto, filters for lookups also hear what is asked.
  if (is_of_hashes && !AnswersRanges()) {
    std::shared_ptr<LookupSampler> sampler = auto_ == nullptr ? nullptr : auto_->lookup_sampler();
    if (sampler != nullptr && order_->is_bytewise()) {
      return std::make_unique<SampledReader>(std::move(opened.filter), std::move(sampler));
    }
    return std::make_unique<BitsReader>(std::move(opened.filter));
  }
  return std::make_unique<RangeReader>(
      std::move(opened.filter), is_of_hashes,
      order_->is_bytewise() && kRangesAreChecked ? order_ : nullptr, sampler_);
}

rocksdb::FilterBitsReader* Policy::GetFilterBitsReader(const rocksdb::Slice& contents) const {
  if (error_.empty()) Announce();
  OpenedFilter opened = OpenFilter({contents.data(), contents.size()});
  switch (opened.state) {
    case BlockState::kIntact:
      counters_->CountOpened();
      return NewReader(std::move(opened)).release();
    case BlockState::kForeign:
      if (contents.size() > 0 && contents.size() < kSmallestBuiltinBlock) {
        counters_->CountDamaged("is too short to be one");
        return new MayMatchReader();
      }
      counters_->CountForeign();
      // RocksDB's own filter of no keys; or all that is left of one of ours, so better safe.
      if (contents.size() == 0) return new MayMatchReader();
      return builtin_->GetFilterBitsReader(contents);
    case BlockState::kDamaged:
      counters_->CountDamaged("is damaged");
      break;
    case BlockState::kFutureVersion:
      counters_->CountFuture("comes from a later version of rocksieve");
      break;
  }
  return new MayMatchReader();
}

rocksdb::Status GetFilterStats(const rocksdb::FilterPolicy* policy, FilterStats* stats) {
  if (policy == nullptr || !policy->IsInstanceOf(kClassName)) {
    return rocksdb::Status::InvalidArgument(
        "rocksieve::GetFilterStats takes a policy made by rocksieve",
        policy == nullptr ? "it is null" : "it is " + policy->GetId());
  }
  *stats = static_cast<const Policy*>(policy)->stats();
  return rocksdb::Status::OK();
}

}  // namespace rocksieve
