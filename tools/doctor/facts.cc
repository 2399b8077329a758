// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/checks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>

#include "plugin/database/database.h"
#include "plugin/database/snapshot_files.h"

namespace rocksieve::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostReports = 20;
constexpr size_t kMostOldLogs = 20;
constexpr size_t kHeaderBytes = 4 << 20;  // of hundreds of column families

bool Holds(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

std::string After(const std::string& line, std::string_view words) {
  return line.substr(line.find(words) + words.size());
}

std::string Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \r") - first + 1));
}

// Of the plugin, behind the date and the thread, or RocksDB's of a file that failed by it; a column
// family may have its words for a name.
std::string ReportIn(const std::string& line) {
  const size_t at = line.find("rocksieve: ");
  if (at == std::string::npos) return "";
  const std::string_view before = std::string_view(line).substr(0, at);
  if (before.ends_with(" Corruption: ")) return line.substr(at);
  const auto words = std::count(before.begin(), before.end(), ' ');
  const bool begins = before.ends_with(words == 3 ? " [WARN] " : " ");
  return begins && (words == 2 || words == 3) ? line.substr(at) : "";
}

constexpr std::string_view kCount = " COUNT : ";  // between a ticker's name and its number

// One line after another; what it means depends on those before.
class Parser {
 public:
  void Take(const std::string& line) {
    number_++;
    if (Holds(line, kCount)) {
      TakeTicker(line);
    } else if (Holds(line, "] STATISTICS:")) {
      log_.tickers.clear();
      log_.tickers_line = number_;
    } else if (Holds(line, "RocksDB version: ")) {
      log_.rocksdb_version = Trimmed(After(line, "RocksDB version: "));
    } else if (Holds(line, "Options for column family [")) {
      std::string name = After(line, "Options for column family [");
      family_ = &log_.families[name.substr(0, name.rfind(']'))];
    } else if (const std::string report = ReportIn(line); !report.empty()) {
      TakeReport(report);
    } else if (family_ != nullptr) {
      TakeOption(line);
    }
  }

  LogFile Result() { return std::move(log_); }

 private:
  // "rocksieve: column family NAME: rocksieve.auto:10 follows ..." (AutoBuilders::LogOnce) is no
  // trouble.
  void TakeReport(const std::string& report) {
    constexpr std::string_view kFamily = "rocksieve: column family ";
    const size_t end = report.find(": rocksieve.auto", kFamily.size());
    if (report.rfind(kFamily, 0) == 0 && end != std::string::npos && Holds(report, " follows ")) {
      log_.follows[report.substr(kFamily.size(), end - kFamily.size())] = {number_, report};
    } else if (log_.plugin_reports.size() < kMostReports) {
      log_.plugin_reports.push_back({number_, report});
    }
  }

  void TakeTicker(const std::string& line) {
    // Of the line as it is: at its end, there is no number, and no space when it is trimmed.
    const size_t at = line.find(kCount);
    log_.tickers[Trimmed(line.substr(0, at))] =
        std::strtoull(line.c_str() + at + kCount.size(), nullptr, 10);
  }

  void TakeOption(const std::string& line) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) return;
    const std::string name = Trimmed(line.substr(0, colon)),
                      value = Trimmed(line.substr(colon + 1));
    if (name == "filter_policy") {
      family_->filter_policy = value;
      family_->line = number_;
    } else if (name == "block_cache") {
      family_->block_cache = value;
      in_block_cache_ = true;
    } else if (name == "capacity" && in_block_cache_) {
      family_->block_cache_bytes = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "num_shard_bits" && in_block_cache_) {
      family_->block_cache_shard_bits = std::clamp(std::atoi(value.c_str()), -1, 19);
    } else if (name == "high_pri_pool_ratio" && in_block_cache_) {
      family_->high_pri_pool_ratio = std::atof(value.c_str());
    } else if (name == "block_cache_compressed" || name == "persistent_cache" ||
               name == "secondary_cache") {
      in_block_cache_ = false;  // what follows describes another one
    } else if (name == "prepopulate_block_cache") {
      family_ = nullptr;  // the last of the table's options
    }
  }

  LogFile log_;
  uint64_t number_ = 0;
  LoggedFamily* family_ = nullptr;  // whose options the lines are
  bool in_block_cache_ = false;
};

std::string Beginning(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kHeaderBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

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

Facts WithoutProcess(DatabaseTrees opened, Progress* progress) {
  Facts facts;
  facts.directory = opened.database->directory();
  facts.lock_holder = LockHolder(facts.directory);
  facts.options = opened.database->options();
  progress->Begin("reading logs");
  facts.logs = ReadLogs(facts.directory);
  const auto older = ReadOlderOptions(facts.directory, facts.options.file_name());
  for (Tree& tree : opened.trees) {
    FamilyFacts& family = facts.families.emplace_back();
    const std::string& tables = tree.family.table_factory;
    family.is_block_based = tables.empty() || tables == "BlockBasedTable";
    if (family.is_block_based) family.policy = PolicyFacts::Describe(tree.family.filter_policy);
    family.earlier_policies = EarlierPolicies(tree.family.name, older, facts.logs);
    family.tree = std::move(tree);
  }
  return facts;
}

}  // namespace

uint64_t LogFile::ticker(const std::string& ticker_name) const {
  const auto found = tickers.find(ticker_name);
  return found == tickers.end() ? 0 : found->second;
}

LogFile ParseLog(std::istream& text) {
  Parser parser;
  for (std::string line; std::getline(text, line);) parser.Take(line);
  return parser.Result();
}

std::vector<std::string> NumberedFiles(const std::string& directory, std::string_view prefix) {
  std::vector<std::pair<uint64_t, std::string>> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind(prefix, 0) != 0) continue;
    if (name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) continue;
    files.emplace_back(std::strtoull(name.c_str() + prefix.size(), nullptr, 10), name);
  }
  std::sort(files.rbegin(), files.rend());
  std::vector<std::string> names;
  for (auto& [number, name] : files) names.push_back(std::move(name));
  return names;
}

std::vector<LogFile> ReadLogs(const std::string& directory) {
  std::vector<std::string> names = NumberedFiles(directory, "LOG.old.");
  if (names.size() > kMostOldLogs) names.resize(kMostOldLogs);
  names.insert(names.begin(), "LOG");

  std::vector<LogFile> logs;
  bool whole = true;  // until there is one that got so far
  for (const std::string& name : names) {
    const fs::path path = fs::path(directory) / name;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) continue;  // it might never end
    std::ifstream file(path);
    if (!file) continue;
    std::istringstream beginning(whole ? "" : Beginning(path));
    LogFile log = ParseLog(whole ? static_cast<std::istream&>(file) : beginning);
    log.name = name;
    if (log.opened()) whole = false;
    logs.push_back(std::move(log));
  }
  return logs;
}

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

Status GatherFacts(const std::string& directory, int pid, Progress* progress, Facts* facts) {
  DatabaseTrees opened;
  Status status = OpenAndReadTrees(directory, {}, progress, &opened);
  std::optional<ProcessFacts> process;
  if (status.ok() && pid != 0) status = ReadProcess(pid, directory, &process.emplace());
  if (!status.ok()) return status;
  *facts = WithoutProcess(std::move(opened), progress);
  facts->process = std::move(process);
  return status;
}

Facts FactsOf(DatabaseTrees opened, Progress* progress) {
  Facts facts = WithoutProcess(std::move(opened), progress);
  ProcessFacts process;
  if (facts.lock_holder != 0 && ReadProcess(facts.lock_holder, facts.directory, &process).ok()) {
    facts.process = std::move(process);
  }
  return facts;
}

}  // namespace rocksieve::tools
