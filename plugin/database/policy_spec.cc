// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/policy_spec.h"

#include <charconv>
#include <cstdio>
#include <exception>
#include <string_view>

#include <rocksdb/convenience.h>
#include <rocksieve/filter_policy.h>

#include "lib/filter/spec.h"
#include "plugin/tables/decoded_filter.h"

namespace rocksieve {
namespace {

using PolicyPtr = std::shared_ptr<const rocksdb::FilterPolicy>;
using rocksdb::Status;

constexpr std::string_view kNone = "none";

// RocksDB's names of its policies; the "internal" ones ignore levels.
constexpr std::string_view kBloomNames[] = {"bloomfilter", "rocksdb.internal.FastLocalBloomFilter"};
constexpr std::string_view kRibbonName = "ribbonfilter";
constexpr std::string_view kAlwaysRibbonName = "rocksdb.internal.Standard128RibbonFilter";

template <typename Number>
Number ParsedNumber(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string WithoutTrailingZeros(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", number);
  std::string shortened = text;
  shortened.erase(shortened.find_last_not_of('0') + 1);
  if (shortened.back() == '.') shortened.pop_back();
  return shortened;
}

// By RocksDB's own parser, which takes what it does not know for no policy.
Status MakeByRocksDb(const std::string& text, PolicyPtr* policy) {
  rocksdb::ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  try {
    const Status status = rocksdb::FilterPolicy::CreateFromString(strict, text, policy);
    if (status.ok() && *policy != nullptr) return status;
  } catch (const std::exception&) {  // of its number parser
  }
  policy->reset();
  return Status::InvalidArgument(
      "there is no filter policy \"" + text +
      "\": allowed are those of rocksieve (rocksieve.bloom:10, rocksieve.ribbon:10, "
      "rocksieve.cuckoo:0.1%, ...), RocksDB's own (bloomfilter:10:false, ribbonfilter:10), "
      "and none");
}

// From RocksDB's own words for a policy, in which bits are rounded as it rounds them. False if it
// is none of those that are known.
bool ParseId(std::string_view id, RocksDbPolicySpec* spec) {
  const std::string_view name = NextSpecPart(&id);
  spec->bits_per_key = ParsedNumber<double>(NextSpecPart(&id));
  if (name == kRibbonName || name == kAlwaysRibbonName) {
    spec->family = Family::kRocksDbRibbon;
    spec->bloom_before_level = name == kRibbonName ? ParsedNumber<int>(id) : -1;
    return true;
  }
  spec->family = Family::kRocksDbBloom;
  return name == kBloomNames[0] || name == kBloomNames[1];
}

}  // namespace

Status PolicySpec::Parse(const std::string& text, PolicySpec* spec) {
  PolicySpec parsed;
  parsed.text_ = text;
  if (text.rfind("rocksieve", 0) == 0) {
    OwnSpec own;
    const std::string error = ParseOwnSpec(text, &own);
    if (!error.empty()) return Status::InvalidArgument(error);
    parsed.text_ = TextOf(own);
    std::visit([&](const auto& of_ours) { parsed.what_ = of_ours; }, own);
  } else if (text != kNone) {
    PolicyPtr policy;
    const Status status = MakeByRocksDb(text, &policy);
    if (!status.ok()) return status;
    RocksDbPolicySpec known;
    if (!ParseId(policy->GetId(), &known)) {
      parsed.what_ = Other();
    } else if (known.bits_per_key != 0) {
      parsed.what_ = known;
    }
  }
  *spec = parsed;
  return Status::OK();
}

Family PolicySpec::family() const {
  if (ours() != nullptr) return ours()->family;
  return rocksdb() != nullptr ? rocksdb()->family : Family::kNone;
}

bool PolicySpec::answers_ranges() const {
  if (automatic() != nullptr) return AnswersRanges(*automatic());
  return ours() != nullptr && AnswersRanges(*ours());
}

double PolicySpec::bits() const {
  if (automatic() != nullptr) return automatic()->bytes == 0 ? automatic()->bits_per_entry : 0;
  if (rocksdb() != nullptr) return rocksdb()->bits_per_key;
  return ours() != nullptr && ours()->unit == FilterSpec::Unit::kBitsPerKey ? ours()->amount : 0;
}

Status PolicySpec::WithBits(double bits, PolicySpec* other) const {
  if (const RocksDbPolicySpec* builtin = rocksdb()) {
    RocksDbPolicySpec changed = *builtin;
    changed.bits_per_key = bits;
    other->what_ = changed;
    const std::string amount = WithoutTrailingZeros(bits);
    other->text_ =
        builtin->family == Family::kRocksDbBloom
            ? "bloomfilter:" + amount + ":false"
            : "ribbonfilter:" + amount + ":" + std::to_string(builtin->bloom_before_level);
    return Status::OK();
  }
  if (automatic() != nullptr) {
    AutoSpec changed = *automatic();
    changed.bits_per_entry = bits;
    changed.bytes = 0;
    return Parse(changed.ToString(), other);
  }
  FilterSpec changed = *ours();
  changed.unit = FilterSpec::Unit::kBitsPerKey;
  changed.amount = bits;
  return Parse(changed.ToString(), other);
}

std::string PolicySpec::FamilyName() const {
  if (is_none()) return "none";
  if (rocksdb() != nullptr) return std::string(BuiltinFamilyName(family()));
  std::string_view rest = text_;
  std::string name(NextSpecPart(&rest));
  NextSpecPart(&rest);  // the amount
  return rest.empty() ? name : name + ":" + std::string(rest);
}

Status PolicySpec::NewPolicy(PolicyPtr* policy) const {
  policy->reset();
  if (text_ == kNone) return Status::OK();
  return ours() != nullptr || automatic() != nullptr ? NewFilterPolicy(text_, policy)
                                                     : MakeByRocksDb(text_, policy);
}

Status NewPolicy(const std::string& text, PolicyPtr* policy) {
  policy->reset();
  PolicySpec spec;
  const Status status = PolicySpec::Parse(text, &spec);
  return status.ok() ? spec.NewPolicy(policy) : status;
}

}  // namespace rocksieve
