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
#include "lib/join/rows/source.h"

namespace rocksieve::join {

// A whole row in the value of another one, whose key is the join key of it:
//
//   varint length of the key | key | value

// Replaces *packed.
void PackRow(const Row& row, std::string* packed);

// The views point into `packed`. False if it is no packed row.
bool UnpackRow(std::string_view packed, Row* row);

// Gives on whole rows, where a join was on an expression and rows came packed.
class UnpackingSink final : public Sink {
 public:
  // Which side's rows come packed: that which is joined on an expression. `sink` must outlive it.
  UnpackingSink(Sink* sink, bool client, bool server)
      : sink_(sink), client_(client), server_(server) {}

  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return sink_->Commit(); }
  absl::Status Discard() override { return sink_->Discard(); }

 private:
  Sink* const sink_;
  const bool client_, server_;
};

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
