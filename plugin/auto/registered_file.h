// SPDX-License-Identifier: Apache-2.0
// What is known of one table file, and of those around it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

struct UserKeyRange {
  std::string smallest, largest;
};

struct RegisteredFile {
  uint64_t number = 0;
  std::shared_ptr<const UserKeyRange> range;  // never null
  uint64_t entries = 0;
  uint64_t filter_keys = 0;
  // Of all its filter blocks and their index; negative if there is nothing yet, only a plan.
  double filter_bits = -1;
  // Which policy made its filter: PolicyId(its name); 0 if it has none.
  uint64_t policy_id = 0;
};

inline uint64_t PolicyId(std::string_view policy_name) {
  return std::hash<std::string_view>()(policy_name) | 1;
}

// What a policy must know to decide on a file's filter.
struct Surroundings {
  // The files that will be there beside it, those included that its job has still to write.
  std::vector<RegisteredFile> others;
  // Bits of the filters that go with its job's inputs, less those of outputs that it has finished.
  double freed_bits = 0;
  // How its own file will go on, if it is not complete yet (a partition of its filter is due).
  uint64_t entries_to_come = 0;
  std::string largest_to_come;
};

// Where a builder learns which other files there are, and tells what it made: one for each table
// file that is being built.
class FileTracker {
 public:
  virtual ~FileTracker() = default;

  // `self` is the file as far as it was built, `complete` whether that is all of it.
  virtual Surroundings Look(const RegisteredFile& self, bool complete) = 0;

  // The file has got a filter, or one more partition of it.
  virtual void Update(const RegisteredFile& self) = 0;
};

// What a compaction has still to write.

// Estimates the entries that a job with these inputs will write beyond `self`, and adds them to
// around->others as one file without a filter; or, if `self` is not complete, as what is to come
// of it. `written`: entries that the job has written so far, `self` included.
void AddPendingOutput(const std::vector<RegisteredFile>& inputs, uint64_t written,
                      const RegisteredFile& self, bool complete, Surroundings* around);

}  // namespace rocksieve
