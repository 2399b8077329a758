// SPDX-License-Identifier: Apache-2.0
// Times for each instruction set. A process chooses its kernels once, so each set gets a child
// process: this program again, with ROCKSIEVE_ISA in its environment.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "bench/compare/machine.h"
#include "bench/compare/tables.h"
#include "lib/cpu/isa.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

constexpr char kThisProgram[] = "/proc/self/exe";
constexpr char kIsaVariable[] = "ROCKSIEVE_ISA";

// A file that is gone when the object is.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* directory = std::getenv("TMPDIR");
    path_ = std::string(directory != nullptr ? directory : "/tmp") + "/rocksieve_compare_XXXXXX";
    const int file = mkstemp(path_.data());
    if (file < 0) throw std::runtime_error("cannot create " + path_ + ": " + std::strerror(errno));
    close(file);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The environment, with ROCKSIEVE_ISA set.
std::vector<std::string> EnvironmentFor(const std::string& isa) {
  const std::string prefix = std::string(kIsaVariable) + "=";
  std::vector<std::string> variables = {prefix + isa};
  for (char** variable = environ; *variable != nullptr; variable++) {
    if (std::strncmp(*variable, prefix.c_str(), prefix.size()) != 0) variables.push_back(*variable);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>* strings) {
  std::vector<char*> pointers;
  for (std::string& string : *strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs this program to its end, without its printed report. Returns its exit code.
int RunChild(std::vector<std::string> arguments, std::vector<std::string> environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawn(&child, kThisProgram, &actions, nullptr,
                                Pointers(&arguments).data(), Pointers(&environment).data());
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child) {
    throw std::runtime_error("cannot run this program again: " + std::string(std::strerror(error)));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The tables of a run with these kernels.
nlohmann::json MeasureWithIsa(const std::string& isa, const Run& run) {
  const TemporaryFile output;
  std::vector<std::string> arguments = {"compare", "--only=queries,builds",
                                        "--json=" + output.path()};
  std::string sizes = "--sizes=";
  for (uint64_t keys : run.settings.isa_keys) {
    if (sizes.back() != '=') sizes += ',';
    sizes += std::to_string(keys);
  }
  arguments.push_back(sizes);
  arguments.insert(arguments.end(), run.arguments_for_children.begin(),
                   run.arguments_for_children.end());
  const int exit_code = RunChild(arguments, EnvironmentFor(isa));
  std::ifstream file(output.path());
  const nlohmann::json report = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (exit_code != 0 || report.is_discarded() || report["machine"]["isa"] != isa) {
    throw std::runtime_error("the run with ROCKSIEVE_ISA=" + isa + " failed with exit code " +
                             std::to_string(exit_code));
  }
  return report["tables"];
}

// The query row, and what the build row of the same filter and number of keys has besides.
nlohmann::json Joined(nlohmann::json row, const nlohmann::json& builds) {
  for (const nlohmann::json& build : builds) {
    if (build["filter"] != row["filter"] || build["keys"] != row["keys"]) continue;
    for (const auto& [field, value] : build.items()) row.emplace(field, value);
  }
  return row;
}

}  // namespace

Table MeasureIsas(Run* run) {
  Table table = {
      .name = "isas",
      .title = "TIMES BY INSTRUCTION SET",
      .explanation =
          "As in the tables of queries and of building; each ratio is over the same filter "
          "of RocksDB as there, measured in the same process. \"portable\" uses none.",
      .columns = {{"filter", "", "filter", Kind::kText},
                  {"isa", "", "kernels", Kind::kText},
                  {"missing_ns_min", "missing", "min", Kind::kFixed, 1},
                  {"missing_over_reference", "", "ratio"},
                  {"present_ns_min", "present", "min", Kind::kFixed, 1},
                  {"present_over_reference", "", "ratio"},
                  {"batch_ns_min", "batched", "min", Kind::kFixed, 1},
                  {"batch_over_reference", "", "ratio"},
                  {"missing_batch_over_single", "batch/single", "missing"},
                  {"present_batch_over_single", "", "present"},
                  {"build_ns_min", "build", "min", Kind::kFixed, 1},
                  {"build_over_bloomfilter", "over", "Bloom"},
                  {"build_over_ribbonfilter", "over", "Ribbon"}},
  };
  std::vector<nlohmann::json> rows;
  for (Isa isa : UsableIsas()) {
    const std::string name(IsaName(isa));
    run->progress.Begin("instruction set " + name + ", in a process of its own");
    const nlohmann::json measured = MeasureWithIsa(name, *run);
    for (const nlohmann::json& row : measured["queries"]) {
      // RocksDB's filters do not depend on the variable.
      if (row["filter"].get<std::string>().rfind("rocksieve.", 0) != 0) continue;
      rows.push_back(Joined(row, measured["builds"]));
    }
  }
  // Next to each other what is to be compared; the order of the instruction sets stays.
  const auto order = [](const nlohmann::json& row) {
    return std::pair(row["keys"].get<uint64_t>(), row["filter"].get<std::string>());
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (nlohmann::json& row : rows) {
    row["part"] = row["filter"];
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace rocksieve::bench
