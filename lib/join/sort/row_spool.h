// SPDX-License-Identifier: Apache-2.0
// Keeps rows until it is known what becomes of them: in memory while they are few, else in a
// temporary file.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <absl/status/status.h>

#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/join/sort/temporary_file.h"

namespace rocksieve::join {

class RowSpool {
 public:
  // `directory` as TemporaryFile has it.
  explicit RowSpool(std::string directory = "", size_t memory_bytes = 4 << 20)
      : directory_(std::move(directory)), memory_bytes_(memory_bytes) {}

  absl::Status Add(const Row& row, Side from);
  // Calls `visit` for each row, in the order in which they came, up to the first error.
  absl::Status Visit(const std::function<absl::Status(const Row& row, Side from)>& visit) const;
  absl::Status Clear();

 private:
  const std::string directory_;
  const size_t memory_bytes_;
  std::string tail_;  // what is not in the file
  std::unique_ptr<TemporaryFile> file_;
};

// Gives a sink only what is committed, for one that cannot take rows back.
class SpoolingSink final : public Sink {
 public:
  // `sink` must outlive it.
  explicit SpoolingSink(Sink* sink, std::string directory = "")
      : sink_(sink), rows_(std::move(directory)) {}

  absl::Status Add(const Row& row, Side from) override { return rows_.Add(row, from); }
  absl::Status Commit() override;
  absl::Status Discard() override { return rows_.Clear(); }

 private:
  Sink* const sink_;
  RowSpool rows_;
};

}  // namespace rocksieve::join
