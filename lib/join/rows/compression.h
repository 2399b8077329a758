// SPDX-License-Identifier: Apache-2.0
// zstd, with limits and a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lib/memory/page_pool.h"

namespace rocksieve::join {

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
  explicit PieceCompressor(Compression compression = Compression::kDense);
  ~PieceCompressor();
  PieceCompressor& operator=(PieceCompressor&&) noexcept;
  void Add(std::string_view raw);
  uint64_t raw_bytes() const { return raw_bytes_; }
  // Of memory that the compressed bytes take so far; the last piece may not be among them yet.
  size_t compressed_bytes() const { return compressed_.size(); }
  // Appends all of it, and starts afresh.
  void Finish(std::string* out);

 private:
  struct Stream;
  void Compress(std::string_view raw, bool last);

  Compression compression_;
  std::unique_ptr<Stream> stream_;  // null until a piece is compressed
  std::string pending_;
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

}  // namespace rocksieve::join
