// SPDX-License-Identifier: Apache-2.0
// Is there a policy, and does the process that has the database open know it?
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "plugin/rocksdb_abi.h"
#include "support/text.h"
#include "tools/doctor/checks.h"

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
  const Files built = FilesWhere(family, [](const TreeFile& file) {
    return file.filter.exists() || !file.properties.filter_policy_name.empty();
  });
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

// The name that was meant, or empty.
std::string Meant(const std::string& spec) {
  const std::string_view first = std::string_view(spec).substr(0, spec.find_first_of(".:"));
  for (const char* name : {"rocksieve", "bloomfilter", "ribbonfilter"}) {
    if (EditDistance(first, name) <= 2) return name;
  }
  return "";
}

std::string Maps(const ProcessFacts& process) {
  return "/proc/" + std::to_string(process.pid) + "/maps: ";
}

std::string Preload(const ProcessFacts& process) {
  return "/proc/" + std::to_string(process.pid) + "/environ: LD_PRELOAD=" + process.preload;
}

// Whoever opens a database for writing writes its OPTIONS: if it is this process, and the file has
// a policy of ours, then it knows our policies.
bool KnowsOurPolicies(const Facts& facts) {
  if (facts.lock_holder != facts.process->pid) return false;
  return std::any_of(facts.families.begin(), facts.families.end(),
                     [](const FamilyFacts& family) { return family.policy.is_ours(); });
}

// A spec that the process did not understand leaves no other trace than that there is no policy.
std::string SignOfNeedOrNoPolicy(const Facts& facts) {
  const std::string need = SignOfNeed(facts);
  if (!need.empty()) return need;
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.is_none()) continue;
    return QuoteTableOption(facts, family, "filter_policy");
  }
  return "";
}

void CheckStatic(const Facts& facts, const std::string& need, Findings* findings) {
  const ProcessFacts& process = *facts.process;
  const LoadedFile* const copy = process.static_rocksdb();
  std::vector<std::string> evidence = {
      Maps(process) + copy->path +
      " has RocksDB's code inside (it holds \"rocksdb_build_git_sha\")"};
  const LoadedFile* const shared = process.shared_rocksdb();
  evidence.push_back(shared == nullptr ? Maps(process) + "no librocksdb.so"
                                       : Maps(process) + shared->path + " is a second copy");
  for (const LoadedFile& plugin : process.plugins) {
    evidence.push_back(Maps(process) + plugin.path +
                       " is loaded, and registers with the shared librocksdb only");
  }
  if (!process.preload.empty()) evidence.push_back(Preload(process));
  if (!need.empty()) evidence.push_back(need);
  const bool plugin_finds_it = copy->exports_rocksdb && shared == nullptr;
  evidence.push_back(copy->path + (copy->exports_rocksdb ? " exports RocksDB's functions"
                                                         : " exports none of RocksDB's functions"));
  Add(findings, "static-rocksdb", Severity::kError, "",
      "the program has a RocksDB of its own inside", evidence,
      plugin_finds_it ? "The plugin has not registered with it: policies of rocksieve are unknown "
                        "to it and silently taken for none."
                      : "No plugin can register with it: policies of rocksieve are unknown to it "
                        "and silently taken for none.",
      plugin_finds_it
          ? "Load the plugin into it before the database is opened: by rocksieve's package for "
            "Java, Node or Python (docs/compatibility.md), else rocksieve_load(\"" +
                copy->path + "\")."
          : "Build its RocksDB with rocksieve inside (in Rust by the crate rocksieve, else "
            "ROCKSDB_PLUGINS=rocksieve: docs/compatibility.md), link the program to the shared "
            "librocksdb, or use RocksDB's "
            "own filters in it.");
}

void CheckPlugins(const Facts& facts, const std::string& need, Findings* findings) {
  const ProcessFacts& process = *facts.process;
  const std::string rocksdb = process.shared_rocksdb()->path;
  if (process.plugins.empty() && !need.empty() && !KnowsOurPolicies(facts)) {
    std::vector<std::string> evidence = {Maps(process) + rocksdb + ", but no librocksieve.so",
                                         need};
    if (!process.preload.empty()) evidence.push_back(Preload(process));
    Add(findings, "plugin-not-loaded", Severity::kError, "",
        "librocksieve.so is not in the process", evidence,
        "Policies of rocksieve are unknown there, and silently taken for none.",
        "Link it (with -Wl,--no-as-needed if nothing calls it), or start the program with "
        "LD_PRELOAD=/path/to/librocksieve.so; the dynamic linker says on stderr if it cannot load "
        "it.");
  }
  const std::string series = process.shared_rocksdb_series();
  if (!process.plugins.empty() && (process.plugin_built_for.empty() ||
                                   (!series.empty() && process.plugin_built_for != series))) {
    Add(findings, "plugin-wrong-version", Severity::kError, "", "the plugin is for another RocksDB",
        {Maps(process) + process.plugins.front().path +
             (process.plugin_built_for.empty() ? " has loaded no librocksieve-MAJOR.MINOR.so"
                                               : " is for RocksDB " + process.plugin_built_for),
         Maps(process) + rocksdb},
        "It registers nothing, and said so on stderr when it was loaded.",
        "Build rocksieve against RocksDB " + (series.empty() ? "of the program" : series) +
            ", and install it beside librocksieve.so.");
  }
  for (const LoadedFile& plugin : process.plugins) {
    if (plugin.replaced) {
      Add(findings, "plugin-replaced", Severity::kWarning, "",
          "the plugin was replaced since the process started",
          {Maps(process) + plugin.path + " (deleted)"}, "The process goes on with the old one.",
          "Start the program again to use the new one.");
    }
  }
}

// What the policy itself has said since the database was opened; null if it has built nothing yet.
const LoggedLine* Follows(const Facts& facts, const std::string& family) {
  if (facts.log() == nullptr) return nullptr;
  const auto found = facts.log()->follows.find(family);
  return found == facts.log()->follows.end() ? nullptr : &found->second;
}

}  // namespace

void CheckPolicyIsThere(const Facts& facts, Findings* findings) {
  // A database that was killed while it was made has none yet, nor a table.
  const auto untold =
      std::find_if(facts.families.begin(), facts.families.end(), [](const FamilyFacts& family) {
        return family.is_block_based && family.policy.spec.empty() && !family.files().empty();
      });
  if (untold != facts.families.end()) {
    const std::string& file = facts.options.file_name();
    Add(findings, "no-options-file", Severity::kWarning, "",
        file.empty() ? "there is no OPTIONS file" : "the OPTIONS file is damaged",
        {file.empty()
             ? facts.directory + " has no file OPTIONS-*"
             : file + " has no section [TableOptions/BlockBasedTable \"" + untold->name() + "\"]"},
        "What the database is opened with cannot be seen; only its files and logs were looked at.",
        "Look at the database itself rather than at a copy of some of its files; if RocksDB cannot "
        "write the file, its LOG says why.");
  }
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.is_none()) continue;
    std::vector<std::string> evidence = {QuoteTableOption(facts, family, "filter_policy")};
    const std::vector<std::string> signs = SignsOfAPolicy(family);
    evidence.insert(evidence.end(), signs.begin(), signs.end());
    if (signs.empty()) {
      Add(findings, "no-policy", Severity::kWarning, family.name(), "there is no filter policy",
          evidence,
          "A lookup of a key that is not there reads a data block in every sorted run whose range "
          "covers it.",
          std::string(
              "Set filter_policy, for example to rocksieve.bloom:10. If your program does so: ") +
              kHowPoliciesGetLost +
              "is the name misspelt, and is librocksieve.so loaded? --pid=N looks into the "
              "process.");
      continue;
    }
    Add(findings, "policy-lost", Severity::kError, family.name(),
        "the filter policy is gone, though there was one", evidence,
        "The filters that are there are not read, and new files get none.",
        std::string(kHowPoliciesGetLost) +
            (IsOurs(signs)
                 ? "a program without librocksieve.so (a plain ldb put, say), or a misspelt spec. "
                   "Load the library there, and give your program the spec again."
                 : "was that on purpose? Else name the policy again."));
  }
}

// The plugin says so in the log, and the options name what is used instead.
void CheckNoWrongPolicyWasTaken(const Facts& facts, Findings* findings) {
  if (facts.log() == nullptr) return;
  std::vector<std::string> evidence;
  for (const LoggedLine& report : facts.log()->plugin_reports) {
    if (report.text.find(kWrongPolicyTaken) == std::string::npos) continue;
    evidence.push_back(Quote(*facts.log(), report));
  }
  if (evidence.empty()) return;
  Add(findings, "bad-spec", Severity::kError, "", "a wrong filter policy was taken", evidence,
      "Files get RocksDB's own Bloom filters of 10 bits per key instead.",
      "Correct what SetOptions(), CreateColumnFamily() or an SstFileWriter was given, and give it "
      "to the database by SetOptions() or by opening it again; files that are compacted from then "
      "on get its filters.");
}

void CheckPolicyIsUnderstood(const Facts& facts, Findings* findings) {
  CheckNoWrongPolicyWasTaken(facts, findings);
  for (const FamilyFacts& family : facts.families) {
    const PolicyFacts& policy = family.policy;
    if (!policy.is_unknown()) continue;
    std::vector<std::string> evidence = {QuoteTableOption(facts, family, "filter_policy")};
    const bool has_our_name = policy.spec.rfind("rocksieve", 0) == 0;
    const std::string meant = Meant(policy.spec);
    if (!meant.empty()) {
      Add(findings, "bad-spec", Severity::kError, family.name(),
          "the filter policy's spec is wrong", evidence,
          has_our_name ? "The database will not open with these options."
                       : "RocksDB takes a policy that it does not know for none, without a word: "
                         "no filter is built or read.",
          has_our_name
              ? policy.error
              : "Did you mean " + meant +
                    "? Correct filter_policy in the program or the options file that sets it.");
      continue;
    }
    const auto files = family.files();
    const bool built_by_it = std::any_of(files.begin(), files.end(), [&](const TreeFile* file) {
      return file->properties.filter_policy_name == policy.spec || file->filter.exists();
    });
    if (files.empty() || built_by_it) continue;  // of the program that wrote it, surely
    Add(findings, "unknown-policy", Severity::kWarning, family.name(),
        "no file has a filter, and the filter policy is unknown here", evidence,
        "If the program does not know the policy either, RocksDB takes it for none, without a "
        "word.",
        "Is the name right, and is its library loaded? Policies of rocksieve begin with "
        "rocksieve., RocksDB's own are bloomfilter:10:false and ribbonfilter:10.");
  }
}

void CheckHost(const Facts& facts, Findings* findings) {
  if (!facts.process) return;
  const ProcessFacts& process = *facts.process;
  const std::string need = SignOfNeedOrNoPolicy(facts);
  const bool wanted = !need.empty() || !process.plugins.empty() ||
                      process.preload.find("rocksieve") != std::string::npos;
  if (process.static_rocksdb() != nullptr) {
    if (wanted && !KnowsOurPolicies(facts)) CheckStatic(facts, need, findings);
  } else if (process.shared_rocksdb() != nullptr) {
    CheckPlugins(facts, need, findings);
  }
}

void CheckRocksDbVersion(const Facts& facts, Findings* findings) {
  const std::string need = SignOfNeed(facts);
  if (need.empty() || facts.log() == nullptr) return;
  const std::string& version = facts.log()->rocksdb_version;
  int major = 0, minor = 0, patch = 0;
  if (std::sscanf(version.c_str(), "%d.%d.%d", &major, &minor, &patch) != 3) return;
  const int64_t number = int64_t{10000} * major + int64_t{100} * minor + patch;
  if (number >= ROCKSIEVE_OLDEST_ROCKSDB && number < ROCKSIEVE_UNKNOWN_ROCKSDB &&
      number != ROCKSIEVE_MISNUMBERED_ROCKSDB) {
    return;
  }
  Add(findings, "unsupported-rocksdb", Severity::kError, "",
      "the database was last opened by a RocksDB that the plugin does not work with",
      {facts.log()->name + ": RocksDB version: " + version, need},
      "The plugin registers nothing there: policies of rocksieve are silently taken for none.",
      "Run the program with a RocksDB from 7.0.3 to 11.8 for which rocksieve was built "
      "(docs/compatibility.md), or with a later rocksieve.");
}

void CheckAutoListener(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const std::string listeners = facts.options.Value("DBOptions", "listeners");
  const bool named = listeners.find("rocksieve.listener") != std::string::npos;
  if (!family.policy.is_auto()) return;
  const LoggedLine* const follows = Follows(facts, family.name());
  const bool listens =
      follows == nullptr ? named : follows->text.find("own history") == std::string::npos;
  if (listens) return;
  std::vector<std::string> evidence = {QuoteTableOption(facts, family, "filter_policy"),
                                       QuoteDbOption(facts, "listeners")};
  if (follows != nullptr) {
    evidence.push_back(Quote(*facts.log(), *follows));
  }
  Add(findings, "auto-without-listener", Severity::kWarning, family.name(),
      "rocksieve.auto works without its listener", evidence,
      family.policy.policy->automatic()->bytes == 0
          ? "It has to guess from what it has built which files are alive: the budget is kept less "
            "exactly."
          : "It knows only what it has built since the database was opened: filters from before "
            "come on top of the budget.",
      "Set the database's option listeners={rocksieve.listener}, or in C++ add "
      "rocksieve::NewListener() to its listeners.");
}

}  // namespace rocksieve::tools
