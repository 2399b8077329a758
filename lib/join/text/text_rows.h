// SPDX-License-Identifier: Apache-2.0
// Rows from text: one in a line, key TAB value, or the key alone. Bytes are taken as they are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"

namespace rocksieve::join {

// A file whose keys are sorted bytewise, as `LC_ALL=C sort` sorts lines without values. Reads it
// once to check that; it must not change meanwhile, nor later. Memory: a key per 256 KiB of it.
class SortedTextSource final : public Source {
 public:
  // FailedPrecondition, with the number of the line, if it is not sorted.
  // `check` is asked now and then whether to go on; may be empty.
  static absl::StatusOr<std::unique_ptr<SortedTextSource>> Open(
      const std::string& path, const std::function<absl::Status()>& check = nullptr);
  ~SortedTextSource() override;

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  uint64_t EstimateKeys() override { return keys_; }  // exact
  bool keys_are_unique() const { return keys_are_unique_; }

 private:
  class LineCursor;
  struct Mark {
    std::string key;  // of the first line from `offset` on
    uint64_t offset;
  };

  SortedTextSource(std::string path, int descriptor);
  absl::Status CheckLines(const std::function<absl::Status()>& check);
  // Size and time of the last change, as text.
  std::string StateOfFile() const;

  const std::string path_;
  const int descriptor_;
  const std::string state_;
  std::vector<Mark> marks_;
  uint64_t keys_ = 0;
  bool keys_are_unique_ = true;
};

// Bytes that go to a file or a pipe, and can be taken back until they are committed.
// A regular file is written at once, and truncated when bytes are taken back. What cannot be
// truncated (a pipe, a terminal, a file opened for appending) gets bytes when they are committed;
// until then a temporary file has them.
class RevocableFile {
 public:
  // Makes the file, or empties it; "-" is the standard output.
  static absl::StatusOr<std::unique_ptr<RevocableFile>> Open(const std::string& path);
  // Writes to a file that is open; it gets a descriptor of its own. The name is for messages.
  static absl::StatusOr<std::unique_ptr<RevocableFile>> OfDescriptor(int descriptor,
                                                                     const std::string& name);
  ~RevocableFile();
  RevocableFile(const RevocableFile&) = delete;
  RevocableFile& operator=(const RevocableFile&) = delete;

  absl::Status Append(std::string_view bytes);
  absl::Status Commit();
  absl::Status Discard();

 private:
  RevocableFile(std::string name, int descriptor);
  absl::Status Write(std::string_view bytes);
  absl::Status Spill();

  const std::string name_;
  const int descriptor_;
  bool can_truncate_ = false;
  uint64_t committed_ = 0;  // where the bytes that were not committed begin
  std::string buffer_;
  std::unique_ptr<TemporaryFile> held_;  // if it cannot be truncated
};

// Results as text, row by row (docs/join_keys.md).

// Adds "NAME":"BYTES" to an object of JSON, after a comma if it is not the first member; bytes that
// are not UTF-8 as "NAME_base64".
void AppendJsonMember(std::string_view name, std::string_view bytes, std::string* object);

// Writes each row as a line.
class TextSink final : public Sink {
 public:
  enum class Format {
    // key TAB value, escaped; with sides "local" or "remote" and a TAB before that.
    kTsv,
    // {"side":"remote","key":"...","value":"..."}. Bytes that are not UTF-8 come as base64 instead:
    // "key_base64", "value_base64".
    kJson,
  };

  // `shows_sides`: whose row it is, where a result has rows of both sides.
  TextSink(std::unique_ptr<RevocableFile> file, Format format, bool shows_sides)
      : file_(std::move(file)), format_(format), shows_sides_(shows_sides) {}
  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return file_->Commit(); }
  absl::Status Discard() override { return file_->Discard(); }

 private:
  const std::unique_ptr<RevocableFile> file_;
  const Format format_;
  const bool shows_sides_;
  std::string line_;
};

}  // namespace rocksieve::join
