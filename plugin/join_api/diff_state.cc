// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/diff_state.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/join/join_key/whole_row.h"
#include "support/pending_file.h"

namespace rocksieve::join {
namespace {

constexpr std::string_view kStateMark = "rocksieve diff state 1\n";
constexpr uint64_t kMostNameBytes = 256;

std::string StateFileOf(const std::string& directory, const std::string& column_family) {
  return absl::StrCat(directory, "/", absl::BytesToHexString(column_family), ".state");
}

uint64_t ChecksumOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace

absl::StatusOr<DiffState> DiffState::Load(const std::string& directory,
                                          const std::string& column_family) {
  const std::string path = StateFileOf(directory, column_family);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ByteReader in(bytes);
  const bool is_state = in.Bytes(kStateMark.size()) == kStateMark;
  DiffState state;
  state.local = in.String(kMostNameBytes);
  state.remote = in.String(kMostNameBytes);
  state.full_at_seconds = in.U64();
  for (uint64_t rows = in.Varint(bytes.size()); in.ok() && rows > 0; rows--) {
    const std::string_view key = in.String(), local_digest = in.Bytes(kWholeRowDigestBytes),
                           remote_digest = in.Bytes(kWholeRowDigestBytes);
    state.different.push_back(
        {std::string(key), std::string(local_digest), std::string(remote_digest)});
  }
  const uint64_t checksum = in.U64();
  const bool is_whole = in.Finished() && is_state &&
                        checksum == ChecksumOf(std::string_view(bytes).substr(0, bytes.size() - 8));
  if (is_whole) return state;
  return absl::NotFoundError(file.is_open() ? absl::StrCat(path, " is damaged")
                                            : absl::StrCat("there is no ", path));
}

absl::Status DiffState::Save(const std::string& directory, const std::string& column_family) const {
  std::string bytes(kStateMark);
  ByteWriter out(&bytes);
  out.String(local);
  out.String(remote);
  out.U64(full_at_seconds);
  out.Varint(different.size());
  for (const DifferentRow& row : different) {
    out.String(row.key);
    out.Bytes(row.local_digest);
    out.Bytes(row.remote_digest);
  }
  out.U64(ChecksumOf(bytes));
  std::string error;
  const std::unique_ptr<PendingFile> file =
      PendingFile::Create(StateFileOf(directory, column_family), &error);
  if (file == nullptr || !file->Append(bytes, &error) || file->Publish(&error) != 0) {
    return absl::FailedPreconditionError(error);
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
