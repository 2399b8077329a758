// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), which RocksDB before 6.27 keeps of every block.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocksieve {

// By the processor's instruction, where there is one.
uint32_t Crc32c(std::string_view bytes);
// By tables: what is taken elsewhere.
uint32_t PortableCrc32c(std::string_view bytes);

}  // namespace rocksieve
