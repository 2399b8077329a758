// SPDX-License-Identifier: Apache-2.0
#include "bench/program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace rocksieve::bench {

bool Wants(const std::vector<std::string>& only, const std::string& name) {
  return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

// Written beside and renamed, so that whoever looks finds all or nothing.
void WriteFile(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished);
  file << text;
  file.close();
  if (!file || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::remove(unfinished.c_str());
    throw std::runtime_error("cannot write " + path + "; choose another path");
  }
}

void RunCommand(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

nlohmann::json ReportOf(const std::string& command) {
  const std::unique_ptr<WorkDir> directory = NewWorkDir("", "bench");
  const std::string file = directory->path() / "report.json";
  RunCommand(command + " --json='" + file + "' > /dev/null");
  return nlohmann::json::parse(std::ifstream(file));
}

std::unique_ptr<WorkDir> NewWorkDir(const std::string& wanted, const std::string& purpose) {
  std::unique_ptr<WorkDir> work;
  const rocksdb::Status status = WorkDir::Create(wanted, purpose, &work);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return work;
}

Report::Report(const std::string& program, std::string json_path)
    : progress_(program), json_path_(std::move(json_path)) {
  Write();
}

void Report::Advance(uint64_t units) {
  if (!progress_.Advance(units)) throw std::runtime_error("interrupted");
}

void Report::Add(const Table& table) {
  constexpr size_t kWidth = 100;
  progress_.Clear();
  std::cout << "\n"
            << table.title << "\n"
            << Wrapped(table.explanation, kWidth) << "\n\n"
            << ForPeople(table.columns, table.rows) << std::flush;
  document["tables"][table.name] = table.rows;
  Write();
}

int Report::Finish(const std::string& right) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
  document["seconds"] = seconds.count();
  Write();
  progress_.Clear();
  std::cout << "\nTook " << Significant(seconds.count(), 3) << " s.";
  if (failures_.empty() && !right.empty()) std::cout << " " << right;
  if (!json_path_.empty()) std::cout << " All figures: " << json_path_;
  std::cout << "\n";
  for (const std::string& failure : failures_) std::cout << "FAILED: " << failure << "\n";
  if (!std::cout.flush()) throw std::runtime_error("cannot write to the standard output");
  return failures_.empty() ? 0 : 1;
}

void Report::Write() {
  document["failures"] = failures_;
  if (!json_path_.empty()) WriteFile(json_path_, document.dump(1) + "\n");
}

int RunProgram(const char* name, int (*main)(int, char**), int argc, char** argv) {
  try {
    return main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return 2;
  }
}

}  // namespace rocksieve::bench
