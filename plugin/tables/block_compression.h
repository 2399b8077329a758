// SPDX-License-Identifier: Apache-2.0
// Blocks of RocksDB's table files as they were before they were compressed.
//
// Sources: RocksDB 7.8 and 9.10, util/compression.h and table/format.cc: since format_version 2 the
// size stands before the compressed bytes, as a varint32; Snappy has it in its own format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rocksdb/status.h>

namespace rocksieve {

// Larger blocks are not uncompressed here: RocksDB makes blocks of kilobytes, or of one large row.
inline constexpr uint64_t kMostBlockBytes = uint64_t{256} << 20;

// `compression`: a rocksdb::CompressionType, as it stands behind the block. `dictionary`: of the
// file, or empty. NotSupported: BZip2, Xpress, types of later releases, larger blocks. Corruption
// if the bytes cannot be uncompressed. Replaces *block.
rocksdb::Status Uncompress(uint8_t compression, std::string_view stored,
                           std::string_view dictionary, std::string* block);

}  // namespace rocksieve
