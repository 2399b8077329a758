// Facts as a database would give them, made by hand: healthy, until a test changes something.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "plugin/database/read_only_env.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {

struct FactsBuilder {
  explicit FactsBuilder(const std::string& policy = "rocksieve.bloom:10") {
    facts.directory = "/db";
    log.name = "LOG";
    log.rocksdb_version = "7.8.3";
    LoggedFamily& logged = log.families["default"];
    logged.filter_policy = policy;
    logged.line = 16;
    logged.block_cache = "0x7f";
    logged.block_cache_bytes = 8 << 20;
    logged.block_cache_shard_bits = 4;
    table_options["filter_policy"] = policy;
    family.tree.family.name = "default";
    family.tree.family.filter_policy = policy;
    family.policy = PolicyFacts::Describe(policy);
  }

  // An intact filter, of the policy that the options name.
  TreeFile& AddFile(int level, uint64_t entries, uint64_t filter_bytes) {
    if (family.tree.levels.empty() || family.tree.levels.back().level != level) {
      family.tree.levels.push_back({level, {}});
    }
    TreeFile file;
    file.name = std::to_string(100000 + ++files) + ".sst";
    file.level = level;
    file.properties.entries = entries;
    file.properties.whole_keys_filtered = true;
    file.properties.filter_policy_name = family.policy.spec;
    file.properties.prefix_extractor_name = "nullptr";
    file.filter.layout = FilterLayout::kFull;
    file.filter.family =
        family.policy.kind == PolicyFacts::Kind::kOurs ? "rocksieve.bloom" : "RocksDB Bloom";
    file.filter.stored_name = family.policy.stored_name;
    file.filter.bytes = filter_bytes;
    family.tree.levels.back().files.push_back(file);
    return family.tree.levels.back().files.back();
  }

  Facts Build() {
    // Tests run at the same time, each in a process of its own.
    const auto directory =
        std::filesystem::path(testing::TempDir()) / ("rocksieve_facts_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    {
      std::ofstream file(directory / "OPTIONS-000005");
      const auto section = [&](const char* name, const std::map<std::string, std::string>& values) {
        file << "[" << name << "]\n";
        for (const auto& [option, value] : values) file << "  " << option << "=" << value << "\n";
      };
      section("DBOptions", db_options);
      section("CFOptions \"default\"", family_options);
      section("TableOptions/BlockBasedTable \"default\"", table_options);
    }
    EXPECT_TRUE(OptionsFile::Load(directory.string(), ReadOnlyEnv(), &facts.options).ok());
    std::filesystem::remove_all(directory);
    facts.logs = {log};
    facts.families = {family};
    return facts;
  }

  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const Finding& finding : RunChecks(Build())) ids.push_back(finding.id);
    return ids;
  }

  Facts facts;
  LogFile log;
  FamilyFacts family;
  std::map<std::string, std::string> db_options, family_options, table_options;
  int files = 0;
};

}  // namespace rocksieve::tools
