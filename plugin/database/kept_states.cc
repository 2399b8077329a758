// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/kept_states.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "plugin/database/open_errors.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

constexpr size_t kNameBytes = 16;
constexpr char kUnfinished[] = ".unfinished";
constexpr std::chrono::hours kUnfinishedFor{1};  // then nobody will finish it

std::string NewName() {
  std::random_device random;
  std::string bytes;
  for (size_t i = 0; i < kNameBytes; i++) bytes.push_back(static_cast<char>(random()));
  return rocksdb::Slice(bytes).ToString(/*hex=*/true);
}

bool IsName(const std::string& name) {
  return name.size() == 2 * kNameBytes &&
         name.find_first_not_of("0123456789ABCDEF") == std::string::npos;
}

void Remove(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

std::string KeptStates::FolderOf(const std::string& column_family) const {
  return directory_ + "/" + rocksdb::Slice(column_family).ToString(/*hex=*/true);
}

Status KeptStates::OpenAndKeep(const std::string& database, const std::string& column_family,
                               const RateLimiterPtr& rate_limiter,
                               std::unique_ptr<ReadOnlySnapshot>* state, std::string* name) const {
  *name = NewName();
  const fs::path kept = fs::path(FolderOf(column_family)) / *name;
  const fs::path unfinished = kept.string() + kUnfinished;
  const Status status =
      ReadOnlySnapshot::Open(database, column_family, state, rate_limiter, unfinished);
  if (!status.ok()) return status;
  std::error_code error;
  fs::rename(unfinished, kept, error);
  if (error) return Status::IOError("cannot keep a state as " + kept.string(), error.message());
  DropOld(column_family);
  return status;
}

Status KeptStates::Open(const std::string& name, const std::string& column_family,
                        const RateLimiterPtr& rate_limiter,
                        std::unique_ptr<ReadOnlySnapshot>* state) const {
  if (!IsName(name)) return Status::NotFound("no state has such a name");
  const Status status = ReadOnlySnapshot::Open(FolderOf(column_family) + "/" + name, column_family,
                                               state, rate_limiter);
  if (status.ok()) return status;
  return Status::NotFound("the state " + name + " of the column family " + column_family +
                          " is not kept any more: " + MessageOf(status));
}

void KeptStates::Drop(const std::string& name, const std::string& column_family) const {
  if (IsName(name)) Remove(fs::path(FolderOf(column_family)) / name);
}

void KeptStates::DropOld(const std::string& column_family) const {
  std::vector<std::pair<fs::file_time_type, fs::path>> states;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::directory_iterator(FolderOf(column_family), error)) {
    const fs::file_time_type written = entry.last_write_time(error);
    if (error) continue;  // somebody else dropped it
    if (IsName(entry.path().filename())) {
      states.emplace_back(written, entry.path());
    } else if (entry.path().extension() == kUnfinished && now - written > kUnfinishedFor) {
      Remove(entry.path());
    }
  }
  std::sort(states.rbegin(), states.rend());
  for (size_t i = most_kept_; i < states.size(); i++) Remove(states[i].second);
}

}  // namespace rocksieve
