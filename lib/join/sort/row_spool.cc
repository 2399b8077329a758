// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/row_spool.h"

#include <algorithm>
#include <utility>

#include "lib/format/coding.h"

namespace rocksieve::join {
namespace {

// Before each row: bytes of the key, bytes of the value, twice, plus 1 if it is the server's.
constexpr size_t kHeadBytes = 16;

}  // namespace

absl::Status RowSpool::Add(const Row& row, Side from) {
  char head[kHeadBytes];
  StoreLittleEndian64(head, row.key.size());
  StoreLittleEndian64(head + 8, 2 * row.value.size() + (from == Side::kServer ? 1 : 0));
  tail_.append(head, sizeof(head)).append(row.key).append(row.value);
  if (tail_.size() <= memory_bytes_) return absl::OkStatus();
  if (file_ == nullptr) {
    absl::StatusOr<std::unique_ptr<TemporaryFile>> file = TemporaryFile::Create(directory_);
    if (!file.ok()) return file.status();
    file_ = *std::move(file);
  }
  const absl::Status status = file_->Append(tail_);
  tail_.clear();
  return status;
}

absl::Status RowSpool::Visit(
    const std::function<absl::Status(const Row& row, Side from)>& visit) const {
  const uint64_t in_file = file_ == nullptr ? 0 : file_->bytes();
  const uint64_t end = in_file + tail_.size();
  // Rows do not straddle: each is in the file or in the tail as a whole.
  std::string buffer;
  uint64_t buffer_offset = 0;  // in the file
  const auto at = [&](uint64_t offset, uint64_t bytes, std::string_view* found) -> absl::Status {
    if (offset >= in_file) {
      *found = std::string_view(tail_).substr(offset - in_file, bytes);
      return absl::OkStatus();
    }
    if (offset < buffer_offset || offset + bytes > buffer_offset + buffer.size()) {
      buffer.resize(std::min<uint64_t>(std::max<uint64_t>(bytes, memory_bytes_), in_file - offset));
      buffer_offset = offset;
      const absl::Status status = file_->Read(offset, buffer.size(), buffer.data());
      if (!status.ok()) return status;
    }
    *found = std::string_view(buffer).substr(offset - buffer_offset, bytes);
    return absl::OkStatus();
  };
  for (uint64_t offset = 0; offset < end;) {
    std::string_view head, body;
    absl::Status status = at(offset, kHeadBytes, &head);
    if (!status.ok()) return status;
    const uint64_t key_bytes = LoadLittleEndian64(head.data());
    const uint64_t twice_value_bytes = LoadLittleEndian64(head.data() + 8);
    const uint64_t bytes = key_bytes + twice_value_bytes / 2;
    status = at(offset + kHeadBytes, bytes, &body);
    if (!status.ok()) return status;
    status = visit({body.substr(0, key_bytes), body.substr(key_bytes)},
                   twice_value_bytes % 2 != 0 ? Side::kServer : Side::kClient);
    if (!status.ok()) return status;
    offset += kHeadBytes + bytes;
  }
  return absl::OkStatus();
}

absl::Status RowSpool::Clear() {
  if (tail_.capacity() > 2 * memory_bytes_) std::string().swap(tail_);
  tail_.clear();
  return file_ == nullptr ? absl::OkStatus() : file_->Clear();
}

absl::Status SpoolingSink::Commit() {
  absl::Status status =
      rows_.Visit([this](const Row& row, Side from) { return sink_->Add(row, from); });
  if (status.ok()) status = sink_->Commit();
  return status.ok() ? rows_.Clear() : status;
}

}  // namespace rocksieve::join
