// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/block_compression.h"

#include <lz4.h>
#include <rocksdb/options.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>

#include "plugin/tables/sst_block.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

// Raw deflate, in windows of 2^14 bytes (rocksdb/advanced_options.h, CompressionOptions).
constexpr int kRawDeflateWindow = -14;

// At most so many bytes come of one, by the formats: copies of 64 bytes in 3; deflate's limit; runs
// in steps of 255; blocks of 128 KiB in 4 bytes.
uint64_t MostBytesPerByte(uint8_t compression) {
  switch (compression) {
    case rocksdb::kSnappyCompression:
      return 22;
    case rocksdb::kZlibCompression:
      return 1032;
    case rocksdb::kZSTD:
      return 32768;
    default:
      return 255;
  }
}

Status CannotUncompress(const char* type) {
  return Status::Corruption(std::string("its ") + type + " data cannot be uncompressed");
}

bool InflateTo(std::string_view stored, std::string_view dictionary, std::string* block) {
  z_stream stream = {};
  if (inflateInit2(&stream, kRawDeflateWindow) != Z_OK) return false;
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  const auto* const words = reinterpret_cast<const Bytef*>(dictionary.data());
  if (!dictionary.empty() &&
      inflateSetDictionary(&stream, words, static_cast<uInt>(dictionary.size())) != Z_OK) {
    return false;
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(block->data());
  stream.avail_out = static_cast<uInt>(block->size());
  return inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
}

bool ZstdTo(std::string_view stored, std::string_view dictionary, std::string* block) {
  // To make one costs more than to uncompress a small block.
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                                ZSTD_freeDCtx);
  return context != nullptr &&
         ZSTD_decompress_usingDict(context.get(), block->data(), block->size(), stored.data(),
                                   stored.size(), dictionary.data(),
                                   dictionary.size()) == block->size();
}

bool Lz4To(std::string_view stored, std::string_view dictionary, std::string* block) {
  const int bytes = LZ4_decompress_safe_usingDict(
      stored.data(), block->data(), static_cast<int>(stored.size()),
      static_cast<int>(block->size()), dictionary.data(), static_cast<int>(dictionary.size()));
  return bytes >= 0 && static_cast<size_t>(bytes) == block->size();
}

}  // namespace

Status Uncompress(uint8_t compression, std::string_view stored, std::string_view dictionary,
                  std::string* block) {
  if (compression == rocksdb::kNoCompression) {
    block->assign(stored);
    return Status::OK();
  }
  uint64_t bytes = 0;
  if (compression == rocksdb::kSnappyCompression) {
    size_t length = 0;
    if (!snappy::GetUncompressedLength(stored.data(), stored.size(), &length)) {
      return CannotUncompress("Snappy");
    }
    bytes = length;
  } else if (compression == rocksdb::kZlibCompression || compression == rocksdb::kLZ4Compression ||
             compression == rocksdb::kLZ4HCCompression || compression == rocksdb::kZSTD) {
    if (!TakeVarint(&stored, &bytes)) return CannotUncompress("compressed");
  } else {
    return Status::NotSupported("it is compressed by type " + std::to_string(compression));
  }
  if (bytes > kMostBlockBytes || stored.size() > kMostBlockBytes) {
    return Status::NotSupported("it has " + std::to_string(bytes) + " bytes");
  }
  constexpr uint64_t kSlackBytes = 64;
  if (bytes > MostBytesPerByte(compression) * (stored.size() + kSlackBytes)) {
    return Status::Corruption("it says that it has " + std::to_string(bytes) +
                              " bytes, more than can be");
  }
  block->resize(bytes);
  switch (compression) {
    case rocksdb::kSnappyCompression:
      return snappy::RawUncompress(stored.data(), stored.size(), block->data())
                 ? Status::OK()
                 : CannotUncompress("Snappy");
    case rocksdb::kZlibCompression:
      return InflateTo(stored, dictionary, block) ? Status::OK() : CannotUncompress("Zlib");
    case rocksdb::kZSTD:
      return ZstdTo(stored, dictionary, block) ? Status::OK() : CannotUncompress("ZSTD");
    default:
      return Lz4To(stored, dictionary, block) ? Status::OK() : CannotUncompress("LZ4");
  }
}

}  // namespace rocksieve
