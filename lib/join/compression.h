// zstd, with limits and a checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocksieve::join {

// Appends the raw size as a varint and the compressed bytes.
void AppendCompressed(std::string_view raw, std::string* out);

// False if the bytes are not such, or unpack to more than most_raw_bytes, which is the most memory
// that is taken.
bool Uncompress(std::string_view bytes, uint64_t most_raw_bytes, std::string* raw);

}  // namespace rocksieve::join
