// SPDX-License-Identifier: Apache-2.0
// Rows on their way from one side to the other: keys front-coded, or left out where the receiver
// knows them, then cut into batches and compressed (docs/protocol.md has the bytes).
//
// A batch ends where it is full, in the middle of a row if need be: a giant value takes many
// batches and no giant message, and what a batch is unpacked to is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "lib/format/byte_io.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/memory/page_pool.h"

struct ZSTD_CCtx_s;  // zstd.h

namespace rocksieve::join {

// zstd, with limits and a checksum.

struct ZstdFree {
  void operator()(ZSTD_CCtx_s* context) const;
};
using ZstdContext = std::unique_ptr<ZSTD_CCtx_s, ZstdFree>;
ZstdContext NewZstdContext(int level);

// How hard zstd tries; what it makes is read alike.
enum class Compression : uint8_t {
  kDense,
  kQuick,  // for links that are faster than that: what is random is copied
};

// Appends the raw size as a varint and the compressed bytes.
void AppendCompressed(std::string_view raw, std::string* out,
                      Compression compression = Compression::kDense);

// The same of what comes piece by piece, in a few megabytes beside what is compressed already.
class PieceCompressor {
 public:
  explicit PieceCompressor(Compression compression = Compression::kDense)
      : compression_(compression) {}
  void Add(std::string_view raw);
  uint64_t raw_bytes() const { return raw_bytes_; }
  // Of memory that the compressed bytes take so far; the last piece may not be among them yet.
  size_t compressed_bytes() const { return compressed_.size(); }
  // Appends all of it, and starts afresh.
  void Finish(std::string* out);

 private:
  void Compress(std::string_view raw, bool last);

  Compression compression_;
  ZstdContext context_;  // null until a piece is compressed
  std::string pending_, buffer_;
  PageString compressed_;
  uint64_t raw_bytes_ = 0;
};

// What UncompressPieces() takes in memory, by what the bytes say of themselves: a few kilobytes if
// it will refuse them.
uint64_t UncompressMemoryBytes(std::string_view bytes);

// False if the bytes are not such, or unpack to more than most_raw_bytes, which is the most memory
// that is taken.
bool Uncompress(std::string_view bytes, uint64_t most_raw_bytes, std::string* raw);

// The same piece by piece, in a few megabytes of memory however much it is. False as well if `take`
// says so, which ends it.
bool UncompressPieces(std::string_view bytes, uint64_t most_raw_bytes,
                      const std::function<bool(std::string_view piece)>& take);

// A whole row in the value of another one, whose key is the join key of it:
//
//   varint length of the key | key | value

// Replaces *packed.
void PackRow(const Row& row, std::string* packed);

// The views point into `packed`. False if it is no packed row.
bool UnpackRow(std::string_view packed, Row* row);

inline constexpr uint64_t kMostKeyBytes = uint64_t{1} << 26;

// Collects keys in order, front-coded: each says how many bytes it shares with the one before. Then
// zstd, which sees what front coding cannot. Memory: what they take compressed, and a few megabytes.
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

inline constexpr size_t kRowBatchBytes = 128 << 10;  // before compression, at most
// Of a row that is received, key and value; the sender may have any.
inline constexpr uint64_t kDefaultMostRowBytes = uint64_t{256} << 20;

class RowBatchWriter {
 public:
  // Without keys, a row only says whether its key is the next one or that of the row before.
  explicit RowBatchWriter(bool with_keys) : with_keys_(with_keys) {}

  void Add(const Row& row);
  // A row whose key the receiver knows by what came before; of a reader that `expects_known` ones.
  void AddKnown(std::string_view value);
  // Of what was added and not taken yet, before compression.
  size_t pending_bytes() const { return raw_.size() - taken_; }
  // That were added.
  uint64_t rows() const { return rows_; }
  // Appends the next batch, compressed: as much of what is pending as goes in.
  void TakeBatch(std::string* out);

 private:
  const bool with_keys_;
  bool any_ = false;
  uint64_t rows_ = 0;
  std::string raw_, last_key_;
  size_t taken_ = 0;  // bytes of raw_
};

class RowBatchReader {
 public:
  // What is kept of a row that began is taken from `memory`, unless that is null.
  explicit RowBatchReader(bool with_keys, uint64_t most_row_bytes = kDefaultMostRowBytes,
                          MemoryAccount* memory = nullptr, bool expects_known = false)
      : with_keys_(with_keys),
        most_row_bytes_(most_row_bytes),
        memory_(memory),
        any_(expects_known) {}

  // Calls `visit` for each row that ends in a batch; the key is empty if there are none in it.
  // Stops at the first error, of the batch or of `visit`.
  absl::Status Read(std::string_view batch,
                    const std::function<absl::Status(const Row& row, bool new_key)>& visit);

  // Whether a batch says that it unpacks to nothing.
  static bool IsEmpty(std::string_view batch) { return ByteReader(batch).Varint() == 0; }

  // Every row that began has ended.
  bool between_rows() const { return rest_.empty(); }

 private:
  // Room in rest_ for what a batch adds.
  absl::Status MakeRoom(uint64_t more_bytes);

  const bool with_keys_;
  const uint64_t most_row_bytes_;
  MemoryHold memory_;
  bool any_;  // key came, or none needs to come first
  std::string last_key_;
  std::string rest_;        // the beginning of a row
  uint64_t row_bytes_ = 0;  // of all of it, at most, once its head is there
};

}  // namespace rocksieve::join
