// SPDX-License-Identifier: Apache-2.0
// Results as text, row by row (docs/join_keys.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lib/join/rows/sink.h"
#include "lib/join/sort/revocable_file.h"

namespace rocksieve::join {

// Adds "NAME":"BYTES" to an object of JSON, after a comma if it is not the first member; bytes that
// are not UTF-8 as "NAME_base64".
void AppendJsonMember(std::string_view name, std::string_view bytes, std::string* object);

// Whose row it is: a word before each row, where a result has rows of both sides.
enum class ShowSide { kNo, kYes };

// Writes each row as a line.
class TextSink : public Sink {
 public:
  TextSink(std::unique_ptr<RevocableFile> file, ShowSide sides)
      : file_(std::move(file)), shows_sides_(sides == ShowSide::kYes) {}
  absl::Status Add(const Row& row, Side from) final;
  absl::Status Commit() final { return file_->Commit(); }
  absl::Status Discard() final { return file_->Discard(); }

 protected:
  bool shows_sides() const { return shows_sides_; }

 private:
  // With its end.
  virtual void AppendLine(const Row& row, Side from, std::string* line) const = 0;

  const std::unique_ptr<RevocableFile> file_;
  const bool shows_sides_;
  std::string line_;
};

// key TAB value, escaped; with sides "local" or "remote" and a TAB before that.
class TsvSink final : public TextSink {
 public:
  explicit TsvSink(std::unique_ptr<RevocableFile> file, ShowSide sides = ShowSide::kNo)
      : TextSink(std::move(file), sides) {}

 private:
  void AppendLine(const Row& row, Side from, std::string* line) const override;
};

// {"side":"remote","key":"...","value":"..."} in each line. Bytes that are not UTF-8 come as base64
// instead: "key_base64", "value_base64".
class JsonLinesSink final : public TextSink {
 public:
  explicit JsonLinesSink(std::unique_ptr<RevocableFile> file, ShowSide sides = ShowSide::kNo)
      : TextSink(std::move(file), sides) {}

 private:
  void AppendLine(const Row& row, Side from, std::string* line) const override;
};

}  // namespace rocksieve::join
