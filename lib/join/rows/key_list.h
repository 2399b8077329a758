// SPDX-License-Identifier: Apache-2.0
// Keys in order, front-coded: each says how many bytes it shares with the one before. Then zstd,
// which sees what front coding cannot: (docs/protocol.md has the bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "lib/join/rows/compression.h"

namespace rocksieve::join {

inline constexpr uint64_t kMostKeyBytes = uint64_t{1} << 26;

// Collects front-coded keys. Memory: what they take compressed, and a few megabytes.
class KeyListWriter {
 public:
  explicit KeyListWriter(Compression compression = Compression::kDense)
      : compressor_(compression) {}

  void Add(std::string_view key);
  uint64_t raw_bytes() const { return compressor_.raw_bytes(); }
  size_t compressed_bytes() const { return compressor_.compressed_bytes(); }
  // Appends what was collected, compressed, and starts afresh.
  void Finish(std::string* out);

 private:
  PieceCompressor compressor_;
  std::string last_;
};

// Calls `visit` for each key, at most so many. Nothing stands for a key of more than
// `longest_key_bytes`, of which no more than that is held in memory. Fails if the bytes are not a
// list, or have more keys.
absl::Status ReadKeyList(std::string_view bytes, uint64_t most_keys, uint64_t longest_key_bytes,
                         const std::function<void(std::optional<std::string_view> key)>& visit);

}  // namespace rocksieve::join
