// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/facts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>

#include "plugin/database/open_errors.h"
#include "plugin/database/read_only_env.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// "{id=rocksieve.bloom:10;name=value}" -> "rocksieve.bloom:10"
std::string SpecOf(const std::string& words) {
  constexpr std::string_view kId = "{id=";
  if (words.rfind(kId, 0) != 0) return words;
  return words.substr(kId.size(), words.find_first_of(";}") - kId.size());
}

using OlderOptions = std::vector<std::pair<std::string, OptionsFile>>;  // by name

// RocksDB keeps the last two, and there may be more. Newest first.
OlderOptions ReadOlderOptions(const std::string& directory, const std::string& latest) {
  OlderOptions older;
  for (const std::string& name : NumberedFiles(directory, "OPTIONS-")) {
    std::string text;
    if (name == latest) continue;
    if (!rocksdb::ReadFileToString(ReadOnlyEnv(), directory + "/" + name, &text).ok()) continue;
    older.emplace_back(name, OptionsFile::Parse(text));
  }
  return older;
}

std::vector<Mention> EarlierPolicies(const std::string& family, const OlderOptions& older,
                                     const std::vector<LogFile>& logs) {
  std::vector<Mention> mentions;
  for (const auto& [name, options] : older) {
    const std::string policy = options.TableValue(family, "filter_policy");
    if (!policy.empty()) mentions.push_back({policy, name});
  }
  for (const LogFile& log : logs) {
    const auto found = log.families.find(family);
    if (found == log.families.end() || found->second.filter_policy.empty()) continue;
    mentions.push_back(
        {found->second.filter_policy, log.name + ", line " + std::to_string(found->second.line)});
  }
  return mentions;
}

}  // namespace

PolicyFacts PolicyFacts::Describe(const std::string& words) {
  PolicyFacts facts;
  facts.spec = SpecOf(words);
  if (words == "nullptr") facts.policy.emplace();
  if (words.empty() || words == "nullptr") return facts;
  PolicySpec spec;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  Status status = PolicySpec::Parse(facts.spec, &spec);
  if (status.ok()) status = spec.NewPolicy(&policy);
  if (status.ok() && policy == nullptr) {
    status = Status::InvalidArgument(facts.spec + " is no filter policy");
  }
  if (status.ok()) {
    facts.policy = spec;
    facts.stored_name = policy->CompatibilityName();
  } else {
    facts.error = MessageOf(status);
  }
  return facts;
}

std::vector<const TreeFile*> FamilyFacts::files() const {
  std::vector<const TreeFile*> files = tree.files();
  std::erase_if(files, [](const TreeFile* file) { return !file->error.empty(); });
  return files;
}

std::vector<const TreeFile*> FamilyFacts::unreadable_files() const {
  std::vector<const TreeFile*> files = tree.files();
  std::erase_if(files, [](const TreeFile* file) { return file->error.empty(); });
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

Facts FactsOf(const Database& database, std::vector<Tree> trees, Progress* progress) {
  Facts facts;
  facts.directory = database.directory();
  facts.lock_holder = LockHolder(facts.directory);
  facts.options = database.options();
  progress->Begin("reading logs");
  facts.logs = ReadLogs(facts.directory);
  const auto older = ReadOlderOptions(facts.directory, facts.options.file_name());
  for (Tree& tree : trees) {
    FamilyFacts family;
    const std::string& tables = tree.family.table_factory;
    family.is_block_based = tables.empty() || tables == "BlockBasedTable";
    if (family.is_block_based) family.policy = PolicyFacts::Describe(tree.family.filter_policy);
    family.earlier_policies = EarlierPolicies(tree.family.name, older, facts.logs);
    family.tree = std::move(tree);
    facts.families.push_back(std::move(family));
  }
  return facts;
}

Status GatherFacts(const std::string& directory, int pid, Progress* progress, Facts* facts) {
  std::unique_ptr<Database> database;
  std::vector<Tree> trees;
  Status status = OpenAndReadTrees(directory, {}, progress, &database, &trees);
  std::optional<ProcessFacts> process;
  if (status.ok() && pid != 0) {
    process.emplace();
    status = ReadProcess(pid, directory, &*process);
  }
  if (!status.ok()) return status;
  *facts = FactsOf(*database, std::move(trees), progress);
  facts->process = std::move(process);
  return status;
}

}  // namespace rocksieve::tools
