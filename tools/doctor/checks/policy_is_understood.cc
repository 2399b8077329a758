// bad-spec, unknown-policy.
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

// Edits (a letter more, less or other) that make one word of the other.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); j++) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

// The name that was meant, or empty.
std::string Meant(const std::string& spec) {
  const std::string_view first = std::string_view(spec).substr(0, spec.find_first_of(".:"));
  for (const char* name : {"rocksieve", "bloomfilter", "ribbonfilter"}) {
    if (Distance(first, name) <= 2) return name;
  }
  return "";
}

}  // namespace

void CheckPolicyIsUnderstood(const Facts& facts, Findings* findings) {
  for (const FamilyFacts& family : facts.families) {
    const PolicyFacts& policy = family.policy;
    if (policy.kind != PolicyFacts::Kind::kUnknown) continue;
    std::vector<std::string> evidence = {QuoteTableOption(facts, family.name(), "filter_policy")};
    const bool has_our_name = policy.spec.rfind("rocksieve", 0) == 0;
    const std::string meant = Meant(policy.spec);
    if (!meant.empty()) {
      if (facts.log() != nullptr) {
        for (const LoggedLine& report : facts.log()->plugin_reports) {
          if (report.text.find("without filters") == std::string::npos) continue;
          evidence.push_back(facts.log()->name + ", line " + std::to_string(report.line) + ": " +
                             report.text);
        }
      }
      findings->push_back(
          {"bad-spec", Severity::kError, family.name(), "the filter policy's spec is wrong",
           evidence,
           has_our_name ? "Files are written without filters, and the database will not open with "
                          "these options again."
                        : "RocksDB takes a policy that it does not know for none, without a word: "
                          "no filter is built or read.",
           has_our_name ? policy.error
                        : "Did you mean " + meant +
                              "? Correct filter_policy in the program or the "
                              "options file that sets it."});
      continue;
    }
    const auto files = family.files();
    const bool built_by_it = std::any_of(files.begin(), files.end(), [&](const TreeFile* file) {
      return file->properties.filter_policy_name == policy.spec || file->filter.exists();
    });
    if (files.empty() || built_by_it) continue;  // of the program that wrote it, surely
    findings->push_back(
        {"unknown-policy", Severity::kWarning, family.name(),
         "no file has a filter, and the filter policy is unknown here", evidence,
         "If the program does not know the policy either, RocksDB takes it for none, without a "
         "word.",
         "Is the name right, and is its library loaded? Policies of rocksieve begin with "
         "rocksieve., RocksDB's own are bloomfilter:10:false and ribbonfilter:10."});
  }
}

}  // namespace rocksieve::tools
