// SPDX-License-Identifier: Apache-2.0
// The frame of programs that measure: their progress, tables, files and exit codes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/progress.h"
#include "support/table.h"
#include "support/text.h"
#include "support/work_dir.h"

namespace rocksieve::bench {

// Whether a table (tree, ..) is wanted: nobody named any, or this one is among them.
bool Wants(const std::vector<std::string>& only, const std::string& name);

// Replaces the file. Throws std::runtime_error if it cannot be written.
void WriteFile(const std::string& path, const std::string& text);

// Runs a command of the shell. Throws std::runtime_error if it fails.
void RunCommand(const std::string& command);

// What a program, with these arguments, writes to --json=FILE; what it prints is thrown away.
nlohmann::json ReportOf(const std::string& command);

// Throws std::runtime_error if it cannot be had.
std::unique_ptr<WorkDir> NewWorkDir(const std::string& wanted, const std::string& purpose);

struct Table {
  std::string name;  // in JSON, and for --only
  std::string title;
  std::string explanation;  // of the columns
  std::vector<Column> columns;
  nlohmann::json rows = nlohmann::json::array();
};

// What a program has measured: tables that are printed as they come, all figures in a file, and
// what was wrong.
class Report {
 public:
  // Writes the file, if there is a path, and again after each table: no measurement is lost.
  Report(const std::string& program, std::string json_path);

  void Begin(const std::string& step, uint64_t units = 0) { progress_.Begin(step, units); }
  // Throws if the user has interrupted the program.
  void Advance(uint64_t units = 1);
  // Of this table, or part of one.
  void Add(const Table& table);
  void Fail(const std::string& sentence) { failures_.push_back(sentence); }
  // Prints the end, which says what was `right`, or what was not. The exit code: 1 for failures.
  int Finish(const std::string& right = "");

  nlohmann::json document;  // what is in the file besides

 private:
  void Write();

  Progress progress_;
  const std::string json_path_;
  std::vector<std::string> failures_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Calls main(argc, argv). An exception becomes a message and the exit code 2: bad usage, or
// something in the way.
int RunProgram(const char* name, int (*main)(int, char**), int argc, char** argv);

}  // namespace rocksieve::bench
