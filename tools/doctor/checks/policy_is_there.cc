// no-policy, policy-lost, no-options-file.
#include <algorithm>

#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

// Why somebody must have named a policy before: earlier options, and files that were built with
// one.
std::vector<std::string> SignsOfAPolicy(const FamilyFacts& family) {
  std::vector<std::string> signs;
  // The newest of each kind of source says enough.
  for (const char* source : {"OPTIONS", "LOG"}) {
    for (const Mention& mention : family.earlier_policies) {
      if (mention.text == "nullptr" || mention.where.rfind(source, 0) != 0) continue;
      signs.push_back(Quote(mention));
      break;
    }
  }
  std::vector<const TreeFile*> built;
  for (const TreeFile* file : family.files()) {
    if (file->filter.exists() || !file->properties.filter_policy_name.empty()) {
      built.push_back(file);
    }
  }
  if (built.empty()) return signs;
  signs.push_back("built with a filter policy" +
                  (built.back()->properties.filter_policy_name.empty()
                       ? std::string()
                       : " (" + built.back()->properties.filter_policy_name + ")") +
                  ": " + QuoteFiles(built, family));
  return signs;
}

bool IsOurs(const std::vector<std::string>& signs) {
  return std::any_of(signs.begin(), signs.end(), [](const std::string& sign) {
    return sign.find("rocksieve") != std::string::npos;
  });
}

constexpr char kHowPoliciesGetLost[] =
    "RocksDB drops a policy that it does not know without a word, and whoever opens the database "
    "for writing then rewrites the OPTIONS file: ";

}  // namespace

void CheckPolicyIsThere(const Facts& facts, Findings* findings) {
  if (facts.options.file_name().empty()) {
    findings->push_back(
        {"no-options-file",
         Severity::kWarning,
         "",
         "there is no OPTIONS file",
         {facts.directory + " has no file OPTIONS-*"},
         "What the database is opened with cannot be seen; only its files and logs were looked at.",
         "Look at the database itself rather than at a copy of some of its files; if RocksDB "
         "cannot write the file, its LOG says why."});
  }
  for (const FamilyFacts& family : facts.families) {
    if (family.policy.kind != PolicyFacts::Kind::kNone) continue;
    std::vector<std::string> evidence = {QuoteTableOption(facts, family.name(), "filter_policy")};
    const std::vector<std::string> signs = SignsOfAPolicy(family);
    evidence.insert(evidence.end(), signs.begin(), signs.end());
    if (signs.empty()) {
      findings->push_back(
          {"no-policy", Severity::kWarning, family.name(), "there is no filter policy", evidence,
           "A lookup of a key that is not there reads a data block in every sorted run whose range "
           "covers it.",
           std::string("Set filter_policy, for example to rocksieve.bloom:10. If your program does "
                       "so: ") +
               kHowPoliciesGetLost +
               "is the name misspelt, and is librocksieve.so loaded? --pid=N looks into the "
               "process."});
      continue;
    }
    findings->push_back(
        {"policy-lost", Severity::kError, family.name(),
         "the filter policy is gone, though there was one", evidence,
         "The filters that are there are not read, and new files get none.",
         std::string(kHowPoliciesGetLost) +
             (IsOurs(signs) ? "a program without librocksieve.so (a plain ldb put, say), or a "
                              "misspelt spec. Load the library there, and give your program the "
                              "spec again."
                            : "was that on purpose? Else name the policy again.")});
  }
}

}  // namespace rocksieve::tools
