// SPDX-License-Identifier: Apache-2.0
// What a comparison of two databases has done so far, in a file, from which another process goes on
// if this one ends before it is done: `rocksieve diff --resume`.
//
// It has what is compared; of column families that are done, what was said of them; of the one
// under way, the key before which all is proven, the counts up to there, and how many bytes of rows
// had been written. Rows that will be looked at again are in FILE.rows meanwhile.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/status.h>
#include <rocksieve/join/diff.h>

#include "support/table.h"
#include "tools/join/diff_files.h"

namespace rocksieve::tools {

class ResumeState {
 public:
  // `comparison`: an object of texts, equal for comparisons that are the same. InvalidArgument if
  // the file is of another one, damaged, or another process has it. `rows` must outlive it.
  static rocksdb::Status Open(const std::string& path, const Json& comparison, RowOutput* rows,
                              std::unique_ptr<ResumeState>* state);
  ResumeState(const ResumeState&) = delete;
  ResumeState& operator=(const ResumeState&) = delete;

  // Opens the rows where they were.
  rocksdb::Status OpenRows(const std::string& output);
  // The column family of the last lines, if these say it once for all that follow.
  std::string* heading() { return &heading_; }
  // Where it goes on, for people; empty if it begins.
  std::string GoingOn() const;

  // Of a column family that is done; else null.
  const Json* Done(const std::string& name) const;
  // The one that was begun and is not done; empty if there is none.
  std::string UnderWay() const;
  // What is known of the other side's column families; an array, empty at first.
  const Json& there() const { return json_["there"]; }

  // The comparison of a column family begins, or goes on: changes the options accordingly.
  rocksdb::Status Begin(const std::string& name, join::DiffOptions* options);
  // What earlier processes had counted of it.
  void AddEarlier(join::DiffReport* report) const;
  // It is done.
  rocksdb::Status Finish(const Json& family, const Json& there);

  // All are done, and what is said is complete; to be called before the rows get their name.
  rocksdb::Status FinishAll();
  // What is proven is kept, after an error.
  rocksdb::Status Save();
  // The times at which each process began that came to prove something, with where it did.
  const Json& parts() const { return json_["parts"]; }
  // Nothing will go on from it.
  rocksdb::Status Remove();

 private:
  ResumeState(const std::string& path, RowOutput* rows);
  std::string RowsPath() const { return file_.path() + ".rows"; }
  rocksdb::Status CheckDocument(const Json& comparison) const;
  rocksdb::Status Proven(const join::DiffProgress& progress);
  rocksdb::Status KeepFound(const join::DifferentRow& row);
  rocksdb::Status VisitFound(const join::DifferenceCallback& take) const;
  void TakePosition();

  StateFile file_;
  RowOutput* const rows_;
  Json json_;
  bool is_new_ = true, changed_ = false, part_is_in_ = false;
  std::string heading_;
  std::optional<RowOutput> found_;  // rows that will be looked at again
  bool rechecks_ = false;  // the column family under way
  Json earlier_;           // of it: "family", as it was when this process began
  std::chrono::steady_clock::time_point begun_, saved_;
  std::chrono::steady_clock::duration saving_{0};  // how long the last time
};

}  // namespace rocksieve::tools
