// SPDX-License-Identifier: Apache-2.0
// A filter policy, as --spec= or an OPTIONS file names it: the one parser for all of them.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include <rocksdb/filter_policy.h>
#include <rocksdb/status.h>
#include <rocksieve/filter_spec.h>

#include "lib/budget/auto_spec.h"

namespace rocksieve {

// Of RocksDB's own policies, those whose filters are known (plugin/tables/decoded_filter.h).
struct RocksDbPolicySpec {
  Family family = Family::kRocksDbBloom;
  double bits_per_key = 10;    // Ribbon: of the Bloom filter of the same rate
  int bloom_before_level = 0;  // Ribbon: makes Bloom filters in levels above this one
};

// Thread safety: a plain value.
class PolicySpec {
 public:
  // No filters.
  PolicySpec() = default;

  // "none"; a spec of rocksieve's, auto included; or of RocksDB's own ("bloomfilter:10:false",
  // "ribbonfilter:10"), or of another policy that RocksDB makes of it. Else InvalidArgument with
  // what is wrong and what is allowed; a spec that RocksDB's own option parser would silently take
  // for no policy is one as well.
  static rocksdb::Status Parse(const std::string& text, PolicySpec* spec);

  // As it would stand in an OPTIONS file.
  const std::string& text() const { return text_; }

  bool is_none() const { return std::holds_alternative<std::monostate>(what_); }
  // Null if it is another one.
  const FilterSpec* ours() const { return std::get_if<FilterSpec>(&what_); }
  const AutoSpec* automatic() const { return std::get_if<AutoSpec>(&what_); }
  const RocksDbPolicySpec* rocksdb() const { return std::get_if<RocksDbPolicySpec>(&what_); }

  // Whose filters it makes; kNone of none, auto, and those of which nothing is known.
  Family family() const;

  // Whether its filters answer for ranges, if they are asked.
  bool answers_ranges() const;

  // Bits per key, or of auto per live entry; 0 if it is none, a rate, or bytes.
  double bits() const;
  // The same with another amount of memory; InvalidArgument if there is no policy with this amount.
  // REQUIRES: ours, automatic or RocksDB's.
  rocksdb::Status WithBits(double bits, PolicySpec* other) const;

  // "RocksDB Bloom", "rocksieve.ribbon": all but the amount.
  std::string FamilyName() const;

  // Null of none.
  rocksdb::Status NewPolicy(std::shared_ptr<const rocksdb::FilterPolicy>* policy) const;

 private:
  struct Other {};  // RocksDB makes it, and nothing more is known

  std::variant<std::monostate, FilterSpec, AutoSpec, RocksDbPolicySpec, Other> what_;
  std::string text_ = "none";
};

// The policy that a text names, as PolicySpec::Parse() has it; null of "none".
rocksdb::Status NewPolicy(const std::string& text,
                          std::shared_ptr<const rocksdb::FilterPolicy>* policy);

}  // namespace rocksieve
