#include "join/rows/key_list.h"

#include <algorithm>

#include "format/byte_io.h"
#include "join/rows/compression.h"

namespace rocksieve::join {
namespace {

// With what each key shares with the one before: what has to be hashed.
constexpr uint64_t kMostListedBytes = uint64_t{1} << 32;

}  // namespace

void KeyListWriter::Add(std::string_view key) {
  const auto differs = std::mismatch(key.begin(), key.end(), last_.begin(), last_.end());
  const auto shared = static_cast<size_t>(differs.first - key.begin());
  ByteWriter out(&raw_);
  out.Varint(shared);
  out.String(key.substr(shared));
  last_.resize(shared);
  last_.append(key.substr(shared));
}

void KeyListWriter::Finish(std::string* out) {
  AppendCompressed(raw_, out);
  raw_.clear();
  last_.clear();
}

absl::Status ReadKeyList(std::string_view bytes, uint64_t most_keys,
                         const std::function<void(std::string_view key)>& visit) {
  std::string rest, key;  // rest: the beginning of an entry
  uint64_t keys = 0, key_bytes = 0;
  const bool read = UncompressPieces(bytes, UINT64_MAX, [&](std::string_view piece) {
    rest += piece;
    size_t taken = 0;
    while (taken < rest.size()) {
      ByteReader in(std::string_view(rest).substr(taken));
      const uint64_t shared = in.Varint(key.size());
      const std::string_view more = in.String(kMostKeyBytes);
      if (!in.ok()) break;  // its rest is in the next piece; or never comes
      key.resize(shared);
      key.append(more);
      key_bytes += key.size();
      if (++keys > most_keys || key_bytes > kMostListedBytes) return false;
      taken = rest.size() - in.remaining();
      visit(key);
    }
    rest.erase(0, taken);
    return rest.size() <= 2 * kMostKeyBytes;
  });
  if (!read || !rest.empty()) return absl::InvalidArgumentError("a list of keys is damaged");
  return absl::OkStatus();
}

}  // namespace rocksieve::join
