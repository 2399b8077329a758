// zstd, with limits and a checksum.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace rocksieve::join {

// Appends the raw size as a varint and the compressed bytes.
void AppendCompressed(std::string_view raw, std::string* out);

// False if the bytes are not such, or unpack to more than most_raw_bytes, which is the most memory
// that is taken.
bool Uncompress(std::string_view bytes, uint64_t most_raw_bytes, std::string* raw);

// The same piece by piece, in a few megabytes of memory however much it is. False as well if `take`
// says so, which ends it.
bool UncompressPieces(std::string_view bytes, uint64_t most_raw_bytes,
                      const std::function<bool(std::string_view piece)>& take);

}  // namespace rocksieve::join
