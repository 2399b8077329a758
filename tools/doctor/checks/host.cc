// static-rocksdb, plugin-not-loaded, plugin-wrong-version, plugin-replaced.
#include <algorithm>

#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"
#include "tools/doctor/checks/need_of_plugin.h"

namespace rocksieve::tools {
namespace {

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
  return std::any_of(facts.families.begin(), facts.families.end(), [](const FamilyFacts& family) {
    return family.policy.kind == PolicyFacts::Kind::kOurs;
  });
}

// A spec that the process did not understand leaves no other trace than that there is no policy.
std::string SignOfNeedOrNoPolicy(const Facts& facts) {
  const std::string need = SignOfNeed(facts);
  if (!need.empty()) return need;
  for (const FamilyFacts& family : facts.families) {
    if (family.policy.kind != PolicyFacts::Kind::kNone) continue;
    return QuoteTableOption(facts, family.name(), "filter_policy");
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
  findings->push_back(
      {"static-rocksdb", Severity::kError, "", "the program has a RocksDB of its own inside",
       evidence,
       "A plugin cannot register with it: policies of rocksieve are unknown to it and silently "
       "taken for none.",
       "Build or install the program with the shared librocksdb 7.8, or use RocksDB's own filters "
       "in it."});
}

void CheckPlugins(const ProcessFacts& process, const std::string& need, Findings* findings) {
  const std::string rocksdb = process.shared_rocksdb()->path;
  if (process.plugins.empty() && !need.empty()) {
    std::vector<std::string> evidence = {Maps(process) + rocksdb + ", but no librocksieve.so",
                                         need};
    if (!process.preload.empty()) evidence.push_back(Preload(process));
    findings->push_back(
        {"plugin-not-loaded", Severity::kError, "", "librocksieve.so is not in the process",
         evidence, "Policies of rocksieve are unknown there, and silently taken for none.",
         "Link it (with -Wl,--no-as-needed if nothing calls it), or start the program with "
         "LD_PRELOAD=/path/to/librocksieve.so; the dynamic linker says on stderr if it cannot "
         "load it."});
  }
  const std::string series = process.shared_rocksdb_series();
  for (const LoadedFile& plugin : process.plugins) {
    if (!series.empty() && !process.plugin_built_for.empty() &&
        process.plugin_built_for != series) {
      findings->push_back(
          {"plugin-wrong-version",
           Severity::kError,
           "",
           "the plugin is for another RocksDB",
           {Maps(process) + plugin.path + " needs librocksdb.so." + process.plugin_built_for,
            Maps(process) + rocksdb},
           "It registers nothing, and said so on stderr when it was loaded.",
           "Build rocksieve against RocksDB " + series + ", or run the program with RocksDB " +
               process.plugin_built_for + "."});
    }
    if (plugin.replaced) {
      findings->push_back({"plugin-replaced",
                           Severity::kWarning,
                           "",
                           "the plugin was replaced since the process started",
                           {Maps(process) + plugin.path + " (deleted)"},
                           "The process goes on with the old one.",
                           "Start the program again to use the new one."});
    }
  }
}

}  // namespace

void CheckHost(const Facts& facts, Findings* findings) {
  if (!facts.process) return;
  const ProcessFacts& process = *facts.process;
  const std::string need = SignOfNeedOrNoPolicy(facts);
  const bool wanted = !need.empty() || !process.plugins.empty() ||
                      process.preload.find("rocksieve") != std::string::npos;
  if (process.static_rocksdb() != nullptr) {
    if (wanted && !KnowsOurPolicies(facts)) CheckStatic(facts, need, findings);
  } else if (process.shared_rocksdb() != nullptr) {
    CheckPlugins(process, need, findings);
  }
}

}  // namespace rocksieve::tools
