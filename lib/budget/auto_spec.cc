#include "lib/budget/auto_spec.h"

#include <algorithm>
#include <cmath>

#include "lib/filter/family.h"
#include "lib/filter/spec_text.h"

namespace rocksieve {
namespace {

constexpr std::string_view kPrefix = "rocksieve.auto";
constexpr std::string_view kExamples =
    "for example rocksieve.auto:10 or rocksieve.auto:10:bloom+ribbon:salted";
constexpr Family kAllFamilies[] = {Family::kBloom, Family::kCuckoo, Family::kRibbon};

struct Cost {
  std::string_view name;
  double CostModel::*member;
  double least, most;
};
constexpr Cost kCosts[] = {{"bloom-ns", &CostModel::bloom_probe_ns, 0, 1e6},
                           {"cuckoo-ns", &CostModel::cuckoo_probe_ns, 0, 1e6},
                           {"read-ns", &CostModel::read_ns, 1, 1e12},
                           {"ribbon-ns", &CostModel::ribbon_probe_ns, 0, 1e6}};

std::string AmountError(std::string_view text) {
  return QuotedSpec(text) + " is not a budget: it takes " + DecimalText(AutoSpec::kMinBits) +
         " to " + DecimalText(AutoSpec::kMaxBits) + " bits per live entry (not a rate, which " +
         "follows from the tree); ";
}

// "bloom+ribbon"; false if it is not meant as families at all.
bool IsFamilies(std::string_view text) {
  return text.find('+') != std::string_view::npos || FindFamily(text) != nullptr;
}

std::string ParseFamilies(std::string_view text, std::vector<Family>* families) {
  families->clear();
  for (bool more = true; more;) {
    const size_t plus = text.find('+');
    more = plus != std::string_view::npos;
    const std::string_view name = text.substr(0, plus);
    if (more) text.remove_prefix(plus + 1);
    const FamilyEntry* family = FindFamily(name);
    if (family == nullptr) {
      return QuotedSpec(name) + " is not one of the families " + std::string(FamilyNames()) + "; ";
    }
    if (std::find(families->begin(), families->end(), family->family) != families->end()) {
      return QuotedSpec(name) + " is there twice; ";
    }
    families->push_back(family->family);
  }
  std::sort(families->begin(), families->end());
  return "";
}

// "read-ns-80000"; nullptr if it is not meant as a cost.
const Cost* CostOf(std::string_view text) {
  for (const Cost& cost : kCosts) {
    if (text.substr(0, cost.name.size()) == cost.name) return &cost;
  }
  return nullptr;
}

std::string ParseCost(std::string_view text, const Cost& cost, CostModel* model) {
  std::string_view value = text.substr(cost.name.size());
  double ns = 0;
  if (value.substr(0, 1) != "-" || !ParseDecimal(value.substr(1), &ns) ||
      !(ns >= cost.least && ns <= cost.most)) {
    const std::string name(cost.name);
    return QuotedSpec(text) + " is not a cost: " + name + " takes " + DecimalText(cost.least) +
           " to " + DecimalText(cost.most) + " nanoseconds, for example " + name + "-" +
           DecimalText(CostModel().*cost.member) + "; ";
  }
  model->*cost.member = ns;
  return "";
}

std::string ParseOption(std::string_view text, AutoSpec* spec) {
  if (const Cost* cost = CostOf(text)) return ParseCost(text, *cost, &spec->cost_model);
  switch (SetSpecOption(text, &spec->options)) {
    case OptionState::kSet:
      return "";
    case OptionState::kTwice:
      return QuotedSpec(text) + " is there twice; ";
    case OptionState::kUnknown:
      break;
  }
  return QuotedSpec(text) + " is not one of the options " + std::string(SpecOptionNames()) +
         ", read-ns-N, bloom-ns-N, cuckoo-ns-N, ribbon-ns-N, nor families such as bloom+ribbon, " +
         "which come right after the budget; ";
}

}  // namespace

bool AutoSpec::IsMeant(std::string_view text) {
  if (text.substr(0, kPrefix.size()) != kPrefix) return false;
  return text.size() == kPrefix.size() || text[kPrefix.size()] == ':';
}

std::string AutoSpec::Parse(std::string_view text, AutoSpec* spec) {
  const auto error = [&](const std::string& what) {
    return QuotedSpec(text) + " is not a rocksieve.auto spec: " + what + std::string(kExamples);
  };
  if (!IsMeant(text)) return error("it must begin with rocksieve.auto:; ");
  AutoSpec parsed;
  std::string_view rest = text.substr(kPrefix.size());
  if (!rest.empty()) rest.remove_prefix(1);
  bool more = rest.find(':') != std::string_view::npos;
  const std::string_view amount = NextSpecPart(&rest);
  if (!ParseDecimal(amount, &parsed.bits_per_entry) ||
      !(parsed.bits_per_entry >= kMinBits && parsed.bits_per_entry <= kMaxBits)) {
    return error(AmountError(amount));
  }
  for (bool first = true; more; first = false) {
    more = rest.find(':') != std::string_view::npos;
    const std::string_view part = NextSpecPart(&rest);
    const std::string wrong = first && IsFamilies(part) ? ParseFamilies(part, &parsed.families)
                                                        : ParseOption(part, &parsed);
    if (!wrong.empty()) return error(wrong);
  }
  *spec = parsed;
  return "";
}

std::string AutoSpec::ToString() const {
  std::string text = std::string(kPrefix) + ":" + DecimalText(bits_per_entry);
  if (!std::equal(families.begin(), families.end(), std::begin(kAllFamilies),
                  std::end(kAllFamilies))) {
    for (const Family family : families) {
      text += (family == families.front() ? ":" : "+") + std::string(FindFamily(family)->name);
    }
  }
  text += SpecOptionsText(options);
  for (const Cost& cost : kCosts) {
    const double ns = cost_model.*cost.member;
    if (ns == CostModel().*cost.member) continue;
    text += ":" + std::string(cost.name) + "-" + DecimalText(ns);
  }
  return text;
}

AllocatorOptions AutoSpec::ForAllocator() const {
  AllocatorOptions allocator;
  allocator.bits_per_entry = bits_per_entry;
  allocator.kinds.clear();
  for (const Family family : families) allocator.kinds.push_back(KindOf(family));
  allocator.cost_model = cost_model;
  allocator.thorough = options.thorough;
  return allocator;
}

FilterSpec AutoSpec::SpecFor(const FilterChoice& choice) const {
  FilterSpec spec = options;
  spec.family = FamilyOf(choice.kind);
  const FamilyEntry& family = *FindFamily(spec.family);
  if (choice.whole_columns != 0) {
    spec.unit = FilterSpec::Unit::kFalsePositiveRate;
    spec.amount = std::ldexp(1, -choice.whole_columns);
  } else {
    spec.unit = FilterSpec::Unit::kBitsPerKey;
    spec.amount = std::clamp(choice.setting, family.min_bits_per_key, family.max_bits_per_key);
  }
  return spec;
}

}  // namespace rocksieve
