// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/auto_spec.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/filter/builder.h"
#include "lib/filter/family.h"
#include "lib/filter/spec.h"

namespace rocksieve {
namespace {

struct SizeUnit {
  std::string_view name;
  uint64_t bytes;
};

// Of two that say the same as shortly, the first is written.
constexpr SizeUnit kSizeUnits[] = {{"TB", 1'000'000'000'000},
                                   {"GB", 1'000'000'000},
                                   {"MB", 1'000'000},
                                   {"kB", 1000},
                                   {"TiB", uint64_t{1} << 40},
                                   {"GiB", uint64_t{1} << 30},
                                   {"MiB", uint64_t{1} << 20},
                                   {"KiB", uint64_t{1} << 10},
                                   {"B", 1}};

constexpr double kMostByteSize = 1e15;  // a double still knows each byte

constexpr std::string_view kPrefix = "rocksieve.auto";
constexpr std::string_view kEvenOption = "even";
constexpr std::string_view kExamples =
    "for example rocksieve.auto:10, rocksieve.auto:512MB or rocksieve.auto:10:bloom+ribbon:salted";
constexpr std::string_view kReadNs = "read-ns";

// What the spec may say of costs: the names of its options, sorted.
std::vector<std::pair<std::string, Family>> Costs() {
  std::vector<std::pair<std::string, Family>> costs = {{std::string(kReadNs), Family::kNone}};
  for (const FamilyEntry* family : HashedFamilies()) {
    costs.emplace_back(std::string(family->name) + "-ns", family->family);
  }
  std::sort(costs.begin(), costs.end());
  return costs;
}

double CostOf(const CostModel& model, Family family) {
  return family == Family::kNone ? model.read_ns : model.ProbeNs(family);
}

std::vector<Family> EveryFamily() {
  std::vector<Family> families;
  for (const FamilyEntry* entry : HashedFamilies()) families.push_back(entry->family);
  return families;
}

// "bloom+range"; what ParseFamilies() reads.
std::string FamiliesText(std::vector<Family> families, Family range_family) {
  if (families == EveryFamily()) families.clear();
  if (range_family != Family::kNone) families.push_back(range_family);
  std::string text;
  for (const Family family : families) {
    text += (text.empty() ? "" : "+") + std::string(FindFamily(family)->name);
  }
  return text;
}

std::string AmountError(std::string_view text) {
  return QuotedSpec(text) + " is not a budget: it takes " + DecimalText(AutoSpec::kMinBits) +
         " to " + DecimalText(AutoSpec::kMaxBits) + " bits per live entry, or " +
         ByteSizeText(AutoSpec::kMinBytes) +
         " to 1000TB for all filters of a column family, with a unit: B, kB, MB, GB, TB, KiB, " +
         "MiB, GiB or TiB (not a rate, which follows from the tree)";
}

// "10" or "512MB".
bool ParseBudget(std::string_view text, AutoSpec* spec) {
  if (ParseByteSize(text, &spec->bytes)) return spec->bytes >= AutoSpec::kMinBytes;
  return ParseDecimal(text, &spec->bits_per_entry) && spec->bits_per_entry >= AutoSpec::kMinBits &&
         spec->bits_per_entry <= AutoSpec::kMaxBits;
}

// "bloom+ribbon"; false if it is not meant as families at all.
bool IsFamilies(std::string_view text) {
  return text.find('+') != std::string_view::npos || FindFamily(text) != nullptr;
}

std::string ParseFamilies(std::string_view text, AutoSpec* spec) {
  std::vector<Family> families;
  for (bool more = true; more;) {
    more = text.find('+') != std::string_view::npos;
    const std::string_view name = NextSpecPart(&text, '+');
    const FamilyEntry* family = FindFamily(name);
    if (family == nullptr) {
      return QuotedSpec(name) + " is not one of the families " + FamilyNames();
    }
    if (spec->range_family == family->family ||
        std::find(families.begin(), families.end(), family->family) != families.end()) {
      return QuotedSpec(name) + " is there twice";
    }
    if (family->build_of_keys != nullptr) {
      spec->range_family = family->family;
    } else {
      families.push_back(family->family);
    }
  }
  std::sort(families.begin(), families.end());
  if (!families.empty()) spec->families = families;
  return "";
}

// "read-ns-80000". False if it is not meant as a cost, right or wrong.
bool ParseCost(std::string_view text, CostModel* model, std::string* error) {
  constexpr double kMostProbeNs = 1e6, kLeastReadNs = 1, kMostReadNs = 1e12;
  for (const auto& [name, family] : Costs()) {
    if (text.substr(0, name.size()) != name) continue;
    const bool reads = family == Family::kNone;
    const double least = reads ? kLeastReadNs : 0, most = reads ? kMostReadNs : kMostProbeNs;
    const std::string_view value = text.substr(name.size());
    double ns = 0;
    if (value.substr(0, 1) != "-" || !ParseDecimal(value.substr(1), &ns) ||
        !(ns >= least && ns <= most)) {
      *error = QuotedSpec(text) + " is not a cost: " + name + " takes " + DecimalText(least) +
               " to " + DecimalText(most) + " nanoseconds, for example " + name + "-" +
               DecimalText(CostOf(CostModel(), family));
    } else {
      (reads ? model->read_ns : model->probe_ns[family]) = ns;
    }
    return true;
  }
  return false;
}

std::string ParseOption(std::string_view text, AutoSpec* spec) {
  std::string error;
  if (text == kEvenOption) {
    if (spec->even) error = QuotedSpec(text) + " is there twice";
    spec->even = true;
    return error;
  }
  const bool has_ranges = spec->range_family != Family::kNone;
  if (ParseCost(text, &spec->cost_model, &error) ||
      (has_ranges && ParseDepths(text, &spec->options, &error)) ||
      SetSpecOption(text, &spec->options, &error)) {
    return error;
  }
  error = QuotedSpec(text) + " is not one of the options " + std::string(SpecOptionNames()) + ", " +
          std::string(kEvenOption);
  for (const auto& [name, family] : Costs()) error += ", " + name + "-N";
  if (has_ranges) error += std::string(", ") + kDepthOptionNames;
  return error + ", nor families such as bloom+ribbon, which come right after the budget";
}

}  // namespace

bool ParseByteSize(std::string_view text, uint64_t* bytes) {
  const size_t digits = text.find_first_not_of("0123456789.");
  if (digits == std::string_view::npos) return false;
  double number = 0;
  if (!ParseDecimal(text.substr(0, digits), &number)) return false;
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.name != text.substr(digits)) continue;
    const double size = number * static_cast<double>(unit.bytes);
    if (!(size <= kMostByteSize)) return false;
    *bytes = static_cast<uint64_t>(size);
    return true;
  }
  return false;
}

std::string ByteSizeText(uint64_t bytes) {
  std::string shortest;
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes % unit.bytes != 0) continue;
    const std::string text = std::to_string(bytes / unit.bytes) + std::string(unit.name);
    if (shortest.empty() || text.size() < shortest.size()) shortest = text;
  }
  return shortest;
}

AutoSpec::AutoSpec() : families(EveryFamily()) {}

bool AutoSpec::IsMeant(std::string_view text) {
  if (text.substr(0, kPrefix.size()) != kPrefix) return false;
  return text.size() == kPrefix.size() || text[kPrefix.size()] == ':';
}

std::string AutoSpec::Parse(std::string_view text, AutoSpec* spec) {
  const auto error = [&](const std::string& what) {
    return QuotedSpec(text) + " is not a rocksieve.auto spec: " + what + "; " +
           std::string(kExamples);
  };
  if (!IsMeant(text)) return error("it must begin with rocksieve.auto:");
  AutoSpec parsed;
  std::string_view rest = text.substr(kPrefix.size());
  if (!rest.empty()) rest.remove_prefix(1);
  bool more = rest.find(':') != std::string_view::npos;
  const std::string_view amount = NextSpecPart(&rest);
  if (!ParseBudget(amount, &parsed)) return error(AmountError(amount));
  for (bool first = true; more; first = false) {
    more = rest.find(':') != std::string_view::npos;
    const std::string_view part = NextSpecPart(&rest);
    const std::string wrong =
        first && IsFamilies(part) ? ParseFamilies(part, &parsed) : ParseOption(part, &parsed);
    if (!wrong.empty()) return error(wrong);
  }
  *spec = parsed;
  return "";
}

std::string AutoSpec::ToString() const {
  std::string text =
      std::string(kPrefix) + ":" + (bytes != 0 ? ByteSizeText(bytes) : DecimalText(bits_per_entry));
  const std::string families_text = FamiliesText(families, range_family);
  if (!families_text.empty()) text += ":" + families_text;
  text += SpecOptionsText(options) + DepthsText(options);
  if (even) text += ":" + std::string(kEvenOption);
  for (const auto& [name, family] : Costs()) {
    const double ns = CostOf(cost_model, family);
    if (ns != CostOf(CostModel(), family)) text += ":" + name + "-" + DecimalText(ns);
  }
  return text;
}

double AutoSpec::BudgetBytes(double entries) const {
  return bytes != 0 ? static_cast<double>(bytes) : bits_per_entry * entries / 8;
}

AllocatorOptions AutoSpec::ForAllocator() const {
  AllocatorOptions allocator;
  allocator.bits_per_entry = bits_per_entry;
  allocator.bytes = bytes;
  allocator.families = families;
  allocator.cost_model = cost_model;
  allocator.thorough = options.thorough;
  return allocator;
}

AllocatorOptions AutoSpec::ForRangeAllocator() const {
  AllocatorOptions allocator = ForAllocator();
  allocator.families = {range_family};
  return allocator;
}

FilterSpec AutoSpec::SpecFor(const FilterChoice& choice) const {
  FilterSpec spec = options;
  spec.family = choice.family;
  const FamilyEntry& family = *FindFamily(spec.family);
  if (family.build_of_keys == nullptr) {
    spec.prefix_lengths = FilterSpec().prefix_lengths;
    spec.order_bytes = FilterSpec().order_bytes;
  }
  if (choice.whole_columns != 0) {
    spec.unit = FilterSpec::Unit::kFalsePositiveRate;
    spec.amount = std::ldexp(1, -choice.whole_columns);
  } else {
    spec.unit = FilterSpec::Unit::kBitsPerKey;
    spec.amount = std::clamp(choice.setting, family.min_bits_per_key, family.max_bits_per_key);
  }
  return spec;
}

size_t AutoSpec::MostBlockBytes(size_t keys) const {
  std::vector<Family> all = families;
  if (range_family != Family::kNone) all.push_back(range_family);
  size_t most = 0;
  for (const Family family : all) {
    FilterSpec spec = options;
    spec.family = family;
    spec.amount = std::min(kMostCurveBits, FindFamily(family)->max_bits_per_key);
    most = std::max(most, rocksieve::MostBlockBytes(spec, keys));
  }
  // Bits per key include the frame, whole columns do not.
  return most + static_cast<size_t>(kLargestOverheadShare * static_cast<double>(most));
}

std::string ParseOwnSpec(std::string_view text, OwnSpec* spec) {
  AutoSpec automatic;
  FilterSpec filter;
  if (AutoSpec::IsMeant(text)) {
    const std::string error = AutoSpec::Parse(text, &automatic);
    if (error.empty()) *spec = automatic;
    return error;
  }
  std::string error = FilterSpec::Parse(text, &filter);
  if (error.empty()) *spec = filter;
  if (error.find("families") != std::string::npos) {
    error += "; or rocksieve.auto:10, which decides for each file";
  }
  return error;
}

bool AnswersRanges(const OwnSpec& spec) {
  const AutoSpec* const automatic = std::get_if<AutoSpec>(&spec);
  return automatic != nullptr
             ? automatic->range_family != Family::kNone
             : FindFamily(std::get_if<FilterSpec>(&spec)->family)->build_of_keys != nullptr;
}

std::string TextOf(const OwnSpec& spec) {
  const AutoSpec* const automatic = std::get_if<AutoSpec>(&spec);
  return automatic != nullptr ? automatic->ToString() : std::get_if<FilterSpec>(&spec)->ToString();
}

}  // namespace rocksieve
