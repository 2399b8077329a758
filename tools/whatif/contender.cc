#include "tools/whatif/contender.h"

#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

#include <rocksdb/filter_policy.h>

#include "tools/command/policy_spec.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// RocksDB's names of its policies; the "internal" ones ignore levels.
constexpr std::string_view kBloomNames[] = {"bloomfilter", "rocksdb.internal.FastLocalBloomFilter"};
constexpr std::string_view kRibbonName = "ribbonfilter";
constexpr std::string_view kAlwaysRibbonName = "rocksdb.internal.Standard128RibbonFilter";

std::string_view NextPart(std::string_view* text) {
  const size_t colon = text->find(':');
  const std::string_view part = text->substr(0, colon);
  *text = colon == std::string_view::npos ? std::string_view() : text->substr(colon + 1);
  return part;
}

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

// From RocksDB's own words for the policy, in which bits are rounded as it rounds them.
Status ParseBuiltin(const std::string& spec, std::string_view id, Contender* contender) {
  const std::string_view name = NextPart(&id);
  contender->bits = ParsedNumber<double>(NextPart(&id));
  for (const std::string_view bloom : kBloomNames) {
    if (name == bloom) contender->kind = ContenderKind::kBuiltinBloom;
  }
  if (name == kRibbonName || name == kAlwaysRibbonName) {
    contender->kind = ContenderKind::kBuiltinRibbon;
    contender->bloom_before_level = name == kRibbonName ? ParsedNumber<int>(id) : -1;
  }
  if (contender->kind == ContenderKind::kNone) {
    return Status::InvalidArgument("whatif knows no model of the filters of \"" + spec +
                                   "\": compare bloomfilter:10:false, ribbonfilter:10, none, or "
                                   "specs of rocksieve");
  }
  if (contender->bits == 0) contender->kind = ContenderKind::kNone;
  return Status::OK();
}

}  // namespace

Contender::Contender() = default;

Contender Contender::WithBits(double other_bits) const {
  Contender other = *this;
  other.bits = other_bits;
  const std::string amount = WithoutTrailingZeros(other_bits);
  switch (kind) {
    case ContenderKind::kNone:
      break;
    case ContenderKind::kOurs:
      other.ours.unit = FilterSpec::Unit::kBitsPerKey;
      other.ours.amount = other_bits;
      other.spec = other.ours.ToString();
      break;
    case ContenderKind::kBuiltinBloom:
      other.spec = "bloomfilter:" + amount + ":false";
      break;
    case ContenderKind::kBuiltinRibbon:
      other.spec = "ribbonfilter:" + amount + ":" + std::to_string(bloom_before_level);
      break;
    case ContenderKind::kAuto:
      other.automatic.bits_per_entry = other_bits;
      other.spec = other.automatic.ToString();
      break;
  }
  return other;
}

bool Contender::IsAllowed() const {
  FilterSpec ours_again;
  AutoSpec automatic_again;
  switch (kind) {
    case ContenderKind::kOurs:
      return FilterSpec::Parse(spec, &ours_again).empty();
    case ContenderKind::kAuto:
      return AutoSpec::Parse(spec, &automatic_again).empty();
    case ContenderKind::kNone:
    case ContenderKind::kBuiltinBloom:
    case ContenderKind::kBuiltinRibbon:
      break;
  }
  return true;
}

std::string Contender::FamilyName() const {
  switch (kind) {
    case ContenderKind::kNone:
      return "none";
    case ContenderKind::kBuiltinBloom:
      return "RocksDB Bloom";
    case ContenderKind::kBuiltinRibbon:
      return "RocksDB Ribbon";
    case ContenderKind::kOurs:
    case ContenderKind::kAuto:
      break;
  }
  std::string_view rest = spec;
  std::string name(NextPart(&rest));
  NextPart(&rest);  // the amount
  return rest.empty() ? name : name + ":" + std::string(rest);
}

Status ParseContender(const std::string& spec, Contender* contender) {
  Contender parsed;
  parsed.spec = spec;
  if (AutoSpec::IsMeant(spec)) {
    const std::string error = AutoSpec::Parse(spec, &parsed.automatic);
    if (!error.empty()) return Status::InvalidArgument(error);
    parsed.kind = ContenderKind::kAuto;
    parsed.bits = parsed.automatic.bits_per_entry;
    parsed.spec = parsed.automatic.ToString();
    *contender = parsed;
    return Status::OK();
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const Status status = MakePolicy(spec, &policy);
  if (!status.ok()) return status;
  if (policy == nullptr) {
    *contender = parsed;
    return status;
  }
  if (FilterSpec::Parse(spec, &parsed.ours).empty()) {
    parsed.kind = ContenderKind::kOurs;
    parsed.bits = parsed.ours.unit == FilterSpec::Unit::kBitsPerKey ? parsed.ours.amount : 0;
    parsed.spec = parsed.ours.ToString();
  } else {
    const Status builtin = ParseBuiltin(spec, policy->GetId(), &parsed);
    if (!builtin.ok()) return builtin;
  }
  *contender = parsed;
  return status;
}

}  // namespace rocksieve::tools
