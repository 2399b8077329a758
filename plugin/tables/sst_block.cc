// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/sst_block.h"

#include <algorithm>
#include <cstdio>
#include <lz4.h>
#include <memory>
#include <snappy.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <rocksdb/options.h>

#include "lib/format/coding.h"
#include "support/return_if_error.h"

#define XXH_INLINE_ALL

// Of every librocksdb since its first release, though in no public header: util/crc32c.h.
namespace ROCKSDB_NAMESPACE::crc32c {
uint32_t Extend(uint32_t before, const char* bytes, size_t size);
}

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr uint64_t kMagic = 0x88E241B785F4CFF7;
constexpr uint64_t kLegacyMagic = 0xDB4775248B80FB57;  // format_version 0, and LevelDB
constexpr uint64_t kPlainMagics[] = {0x8242229663BF9564, 0x4F3418EB7A8F13B8};
constexpr uint64_t kCuckooMagic = 0x926789D0C5F17873;
constexpr uint64_t kLegacyFooterBytes = 48, kFooterBytes = 53;
constexpr size_t kPlacesBytes = 40;
// From format_version 6 on the footer has no places, but this mark and its own checksum.
constexpr std::string_view kExtendedMagic("\x3E\0\x7A\0", 4);
constexpr size_t kFooterChecksumAt = 5, kBaseContextAt = 9, kMetaIndexSizeAt = 13;
constexpr size_t kReservedAt = 33;  // eight bytes, 0 unless a later release says otherwise

std::string Hex(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(number));
  return text;
}

bool TakePlace(std::string_view* bytes, BlockPlace* place) {
  return TakeVarint(bytes, &place->offset) && TakeVarint(bytes, &place->size);
}

Status WrongMagic(uint64_t magic) {
  if (magic == kPlainMagics[0] || magic == kPlainMagics[1]) {
    return Status::NotSupported("it is a PlainTable file, a format without filter blocks");
  }
  if (magic == kCuckooMagic) {
    return Status::NotSupported("it is a CuckooTable file, a format without filter blocks");
  }
  return Status::Corruption("the last 8 bytes are " + Hex(magic) +
                            ", not the mark of a block-based table: damaged, not yet written, or "
                            "encrypted by the file system (Env) of its program");
}

Status ReadExactly(rocksdb::RandomAccessFile* file, uint64_t offset, size_t bytes,
                   std::string* buffer) {
  buffer->resize(bytes);
  rocksdb::Slice read;
  RETURN_IF_ERROR(file->Read(offset, bytes, &read, buffer->data()));
  if (read.size() < bytes) return Status::Corruption("the file ends too early");
  if (read.data() != buffer->data()) buffer->assign(read.data(), read.size());
  return Status::OK();
}

std::string At(BlockPlace place) {
  return "the block at offset " + std::to_string(place.offset) + " (" + std::to_string(place.size) +
         " bytes)";
}

Status OfLater(const std::string& what) {
  return Status::NotSupported(what +
                              ": damaged, or from a RocksDB later than 11.8, for which a "
                              "later rocksieve is needed");
}

// RocksDB stores CRCs rotated and offset, so that a CRC of bytes that hold CRCs is no problem.
uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = rocksdb::crc32c::Extend(0, bytes.data(), bytes.size());
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

// What is added to each checksum; 0 before format_version 6.
uint32_t ContextOf(const TableFooter& footer, uint64_t offset) {
  if (footer.base_context_checksum == 0) return 0;
  return footer.base_context_checksum ^
         (static_cast<uint32_t>(offset) + static_cast<uint32_t>(offset >> 32));
}

// Where the meta blocks are, from format_version 6 on; checks the footer's own checksum.
Status ReadExtendedPart(std::string text, uint64_t footer_offset, TableFooter* footer) {
  if (text.compare(1, kExtendedMagic.size(), kExtendedMagic) != 0) {
    return Status::Corruption("the footer is damaged: it has no mark of format_version " +
                              std::to_string(footer->format_version));
  }
  const uint32_t stored = LoadLittleEndian32(text.data() + kFooterChecksumAt);
  footer->base_context_checksum = LoadLittleEndian32(text.data() + kBaseContextAt);
  StoreLittleEndian32(text.data() + kFooterChecksumAt, 0);
  if (footer->base_context_checksum == 0 || stored != BlockChecksum(*footer, footer_offset, text)) {
    return Status::Corruption("the footer is damaged: it does not match its checksum");
  }
  if (LoadLittleEndian64(text.data() + kReservedAt) != 0) {
    return OfLater("its footer names a feature that is unknown");
  }
  const uint64_t size = LoadLittleEndian32(text.data() + kMetaIndexSizeAt);
  if (size + kBlockTrailerBytes > footer_offset) {
    return Status::Corruption("the footer is damaged: it names " + std::to_string(size) +
                              " bytes before it, and there are " + std::to_string(footer_offset));
  }
  footer->meta_index = {footer_offset - kBlockTrailerBytes - size, size};
  return Status::OK();
}

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

Status ReadFooter(rocksdb::RandomAccessFile* file, uint64_t file_bytes, TableFooter* footer) {
  if (file_bytes < kLegacyFooterBytes) {
    return Status::Corruption("with " + std::to_string(file_bytes) +
                              " bytes it is too short to be a table file");
  }
  std::string text;
  const uint64_t bytes = std::min(file_bytes, kFooterBytes);
  RETURN_IF_ERROR(ReadExactly(file, file_bytes - bytes, bytes, &text));
  std::string_view rest = text;
  *footer = TableFooter();
  const uint64_t magic = LoadLittleEndian64(text.data() + text.size() - 8);
  if (magic == kLegacyMagic) {
    rest.remove_prefix(rest.size() - kLegacyFooterBytes);
  } else if (magic == kMagic && bytes == kFooterBytes) {
    footer->checksum = static_cast<rocksdb::ChecksumType>(text[0]);
    footer->format_version = LoadLittleEndian32(text.data() + text.size() - 12);
    rest.remove_prefix(1);
    if (footer->checksum < rocksdb::kNoChecksum || footer->checksum > rocksdb::kXXH3) {
      return OfLater("its checksum type " + std::to_string(footer->checksum) + " is unknown");
    }
    if (footer->format_version > kLatestFormatVersion) {
      return OfLater("its format_version " + std::to_string(footer->format_version) +
                     " is unknown");
    }
    if (footer->format_version >= kContextFormatVersion) {
      return ReadExtendedPart(text, file_bytes - bytes, footer);
    }
  } else {
    return WrongMagic(magic);
  }
  rest = rest.substr(0, kPlacesBytes);
  if (!TakePlace(&rest, &footer->meta_index) || !TakePlace(&rest, &footer->index)) {
    return Status::Corruption("the footer is damaged");
  }
  return Status::OK();
}

Status CheckBlock(const TableFooter& footer, BlockPlace place, std::string_view bytes) {
  const uint32_t stored = LoadLittleEndian32(bytes.data() + place.size + 1);
  // Without checksums, files of format_version 6 and later still have the place in it.
  const bool has_check =
      footer.checksum != rocksdb::kNoChecksum || footer.base_context_checksum != 0;
  if (!has_check ||
      stored == BlockChecksum(footer, place.offset, bytes.substr(0, place.size + 1))) {
    return Status::OK();
  }
  return Status::Corruption(At(place) + " does not match its checksum");
}

Status ReadStoredBlock(rocksdb::RandomAccessFile* file, uint64_t file_bytes,
                       const TableFooter& footer, BlockPlace place, bool check, std::string* stored,
                       uint8_t* compression) {
  if (place.offset > file_bytes || place.size > file_bytes - place.offset ||
      kBlockTrailerBytes > file_bytes - place.offset - place.size) {
    return Status::Corruption(At(place) + " lies beyond the end of the file, which has " +
                              std::to_string(file_bytes) + " bytes");
  }
  Status status = ReadExactly(file, place.offset, place.size + kBlockTrailerBytes, stored);
  if (!status.ok()) return status;
  if (check) status = CheckBlock(footer, place, *stored);
  *compression = static_cast<uint8_t>((*stored)[place.size]);
  stored->resize(place.size);
  return status;
}

Status ReadBlock(rocksdb::RandomAccessFile* file, uint64_t file_bytes, const TableFooter& footer,
                 BlockPlace place, bool check, std::string* contents) {
  uint8_t compression = 0;
  RETURN_IF_ERROR(ReadStoredBlock(file, file_bytes, footer, place, check, contents, &compression));
  if (compression != 0) return Status::Corruption(At(place) + " is compressed, which it never is");
  return Status::OK();
}

bool TakeIndexValue(bool delta_values, BlockCursor* entries, BlockPlace* place) {
  if (!delta_values) {
    std::string_view value = entries->value();
    return TakePlace(&value, place);
  }
  std::string_view rest = entries->rest();
  const size_t bytes_before = rest.size();
  if (entries->shares()) {
    // Only the size is stored, as a difference with its sign in the lowest bit.
    uint64_t zigzag = 0;
    if (!TakeVarint(&rest, &zigzag)) return false;
    place->offset += place->size + kBlockTrailerBytes;
    place->size += (zigzag >> 1) ^ (~(zigzag & 1) + 1);
  } else if (!TakePlace(&rest, place)) {
    return false;
  }
  entries->Skip(bytes_before - rest.size());
  return true;
}

uint32_t BlockChecksum(const TableFooter& footer, uint64_t offset, std::string_view bytes) {
  const uint32_t context = ContextOf(footer, offset);
  switch (footer.checksum) {
    case rocksdb::kCRC32c:
      return context + MaskedCrc(bytes);
    case rocksdb::kxxHash:
      return context + XXH32(bytes.data(), bytes.size(), /*seed=*/0);
    case rocksdb::kxxHash64:
      return context + static_cast<uint32_t>(XXH64(bytes.data(), bytes.size(), /*seed=*/0));
    case rocksdb::kXXH3:
      return context + (static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size() - 1)) ^
                        static_cast<uint8_t>(bytes.back()) * 0x6B9083D9u);
    case rocksdb::kNoChecksum:
      break;
  }
  return context;
}

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
