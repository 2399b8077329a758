// SPDX-License-Identifier: Apache-2.0
// Rows from text: one in a line, key TAB value, or the key alone. Bytes are taken as they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

// A file whose keys are sorted bytewise, as `LC_ALL=C sort` sorts lines without values. Reads it
// once to check that; it must not change meanwhile, nor later. Memory: a key per 256 KiB of it.
class SortedTextSource final : public Source {
 public:
  // FailedPrecondition, with the number of the line, if it is not sorted.
  static absl::StatusOr<std::unique_ptr<SortedTextSource>> Open(const std::string& path);
  ~SortedTextSource() override;

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  uint64_t EstimateKeys() override { return keys_; }  // exact

 private:
  class LineCursor;
  struct Mark {
    std::string key;  // of the first line from `offset` on
    uint64_t offset;
  };

  SortedTextSource(std::string path, int descriptor);
  absl::Status CheckLines();
  // Size and time of the last change, as text.
  std::string StateOfFile() const;

  const std::string path_;
  const int descriptor_;
  const std::string state_;
  std::vector<Mark> marks_;
  uint64_t keys_ = 0;
};

}  // namespace rocksieve::join
