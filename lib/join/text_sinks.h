// Results as text, row by row (docs/join_attributes.md).
#pragma once

#include <memory>
#include <string>

#include "join/revocable_file.h"
#include "join/sink.h"

namespace rocksieve::join {

// Whose row it is: a word before each row, where a result has rows of both sides.
enum class ShowSide { kNo, kYes };

// key TAB value, escaped (tsv.h); with sides "local" or "remote" and a TAB before that.
class TsvSink final : public Sink {
 public:
  explicit TsvSink(std::unique_ptr<RevocableFile> file, ShowSide sides = ShowSide::kNo)
      : file_(std::move(file)), sides_(sides) {}
  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return file_->Commit(); }
  absl::Status Discard() override { return file_->Discard(); }

 private:
  const std::unique_ptr<RevocableFile> file_;
  const ShowSide sides_;
  std::string line_;
};

// {"side":"remote","key":"...","value":"..."} in each line. Bytes that are not UTF-8 come as base64
// instead: "key_base64", "value_base64".
class JsonLinesSink final : public Sink {
 public:
  explicit JsonLinesSink(std::unique_ptr<RevocableFile> file, ShowSide sides = ShowSide::kNo)
      : file_(std::move(file)), sides_(sides) {}
  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return file_->Commit(); }
  absl::Status Discard() override { return file_->Discard(); }

 private:
  const std::unique_ptr<RevocableFile> file_;
  const ShowSide sides_;
  std::string line_;
};

}  // namespace rocksieve::join
