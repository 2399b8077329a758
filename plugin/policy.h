// The FilterPolicy: makes builders for new tables, and readers for blocks of ours and of others.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/filter_policy.h>

#include <rocksieve/filter_policy.h>
#include <rocksieve/filter_spec.h>

#include "counters.h"
#include "rocksdb_abi.h"

namespace rocksieve {

class Policy final : public rocksdb::FilterPolicy {
 public:
  explicit Policy(const FilterSpec& spec);

  // The spec, which is what options print and what builds the same policy again.
  const char* Name() const override { return spec_text_.c_str(); }
  std::string GetId() const override { return spec_text_; }
  bool IsInstanceOf(const std::string& name) const override;

  // The built-in one: an SST stores its filter under this name, and the filters that a database
  // already has would be lost under any other.
  const char* CompatibilityName() const override;

  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override;
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice& contents) const override;

  FilterStats stats() const { return counters_->stats(); }

 private:
  const FilterSpec spec_;
  const std::string spec_text_;
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin_;
  const std::shared_ptr<Counters> counters_;
};

}  // namespace rocksieve
