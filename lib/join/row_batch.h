// Rows on their way from one side to the other, in batches: keys front-coded, or left out where the
// receiver knows them, then zstd (docs/protocol.md has the bytes).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "join/source.h"

namespace rocksieve::join {

class RowBatchWriter {
 public:
  // Without keys, a row only says whether its key is the next one or that of the row before.
  explicit RowBatchWriter(bool with_keys) : with_keys_(with_keys) {}

  void Add(const Row& row);
  size_t raw_bytes() const { return raw_.size(); }
  // Appends the batch, compressed. The next one goes on where this ended.
  void Finish(std::string* out);

 private:
  const bool with_keys_;
  bool any_ = false;
  std::string raw_, last_key_;
};

class RowBatchReader {
 public:
  explicit RowBatchReader(bool with_keys) : with_keys_(with_keys) {}

  // Calls `visit` for each row of a batch; the key is empty if there are none in it. Stops at the
  // first error, of the batch or of `visit`.
  absl::Status Read(std::string_view batch, uint64_t most_raw_bytes,
                    const std::function<absl::Status(const Row& row, bool new_key)>& visit);

 private:
  const bool with_keys_;
  bool any_ = false;
  std::string last_key_;
};

}  // namespace rocksieve::join
