#include "tools/doctor/facts.h"

#include <rocksdb/filter_policy.h>

#include "plugin/database/policy_spec.h"

namespace rocksieve::tools {
namespace {

// "{id=rocksieve.bloom:10;name=value}" -> "rocksieve.bloom:10"
std::string SpecOf(const std::string& words) {
  constexpr std::string_view kId = "{id=";
  if (words.rfind(kId, 0) != 0) return words;
  return words.substr(kId.size(), words.find_first_of(";}") - kId.size());
}

}  // namespace

PolicyFacts PolicyFacts::Describe(const std::string& words) {
  PolicyFacts facts;
  facts.spec = SpecOf(words);
  facts.is_auto = facts.spec.rfind("rocksieve.auto", 0) == 0;
  if (words.empty()) return facts;
  if (words == "nullptr") {
    facts.kind = Kind::kNone;
    return facts;
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status status = NewPolicy(facts.spec, &policy);
  if (!status.ok() || policy == nullptr) {
    facts.kind = Kind::kUnknown;
    facts.error = status.getState() == nullptr ? status.ToString() : status.getState();
    return facts;
  }
  facts.kind = facts.spec.rfind("rocksieve", 0) == 0 ? Kind::kOurs : Kind::kBuiltin;
  facts.stored_name = policy->CompatibilityName();
  return facts;
}

std::vector<const TreeFile*> FamilyFacts::files() const {
  std::vector<const TreeFile*> files;
  for (const TreeLevel& level : tree.levels) {
    for (const TreeFile& file : level.files) {
      if (file.error.empty()) files.push_back(&file);
    }
  }
  return files;
}

std::vector<const TreeFile*> FamilyFacts::unreadable_files() const {
  std::vector<const TreeFile*> files;
  for (const TreeLevel& level : tree.levels) {
    for (const TreeFile& file : level.files) {
      if (!file.error.empty()) files.push_back(&file);
    }
  }
  return files;
}

const LogFile* Facts::log() const {
  for (const LogFile& file : logs) {
    if (file.opened()) return &file;
  }
  return nullptr;
}

const LoggedFamily* Facts::logged(const std::string& family) const {
  if (log() == nullptr) return nullptr;
  const auto found = log()->families.find(family);
  return found == log()->families.end() ? nullptr : &found->second;
}

std::string Facts::DbOption(const std::string& name) const {
  return options.Value("DBOptions", name);
}

}  // namespace rocksieve::tools
