// SPDX-License-Identifier: Apache-2.0
#include "plugin/unshared/state_files.h"

#include <sys/stat.h>

#include <map>
#include <tuple>
#include <utility>

#include <rocksdb/metadata.h>

namespace rocksieve {
namespace {

// Device, inode, sequence numbers.
using FileIdentity = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;

bool Identify(const StateFile& file, FileIdentity* identity) {
  struct stat found = {};
  if (stat(file.path.c_str(), &found) != 0) return false;
  *identity = {found.st_dev, found.st_ino, file.smallest_sequence, file.largest_sequence};
  return true;
}

std::vector<StateFile> FilesOf(const ReadOnlySnapshot& state) {
  rocksdb::ColumnFamilyMetaData data;
  state.db()->GetColumnFamilyMetaData(state.column_family(), &data);
  std::vector<StateFile> files;
  for (const rocksdb::LevelMetaData& level : data.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      files.push_back({file.directory + "/" + file.relative_filename, level.level, file.size,
                       file.smallest_seqno, file.largest_seqno, file.smallestkey, file.largestkey});
    }
  }
  return files;
}

uint64_t BytesOf(const std::vector<StateFile>& files) {
  uint64_t bytes = 0;
  for (const StateFile& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace

StateFiles CompareFiles(const ReadOnlySnapshot& first, const ReadOnlySnapshot& second) {
  StateFiles files;
  std::map<FileIdentity, StateFile> of_first;
  FileIdentity identity;
  for (StateFile& file : FilesOf(first)) {
    const bool identified = Identify(file, &identity);
    if (!identified || !of_first.emplace(identity, file).second) files.first_only.push_back(file);
  }
  for (StateFile& file : FilesOf(second)) {
    const bool identified = Identify(file, &identity);
    const auto found = identified ? of_first.find(identity) : of_first.end();
    if (found == of_first.end()) {
      files.second_only.push_back(file);
    } else {
      files.shared.push_back(file);
      of_first.erase(found);
    }
  }
  for (auto& [unused, file] : of_first) files.first_only.push_back(std::move(file));
  files.shared_bytes = BytesOf(files.shared);
  files.first_only_bytes = BytesOf(files.first_only);
  files.second_only_bytes = BytesOf(files.second_only);
  return files;
}

}  // namespace rocksieve
