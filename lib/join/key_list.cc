#include "join/key_list.h"

#include <algorithm>

#include "format/byte_io.h"
#include "join/compression.h"

namespace rocksieve::join {

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

absl::Status ReadKeyList(std::string_view bytes, uint64_t most_raw_bytes,
                         const std::function<void(std::string_view key)>& visit) {
  std::string raw;
  if (!Uncompress(bytes, most_raw_bytes, &raw)) {
    return absl::InvalidArgumentError("a list of keys cannot be unpacked");
  }
  ByteReader in(raw);
  std::string key;
  while (in.remaining() > 0) {
    const uint64_t shared = in.Varint(key.size());
    const std::string_view rest = in.String(kMostKeyBytes);
    if (!in.ok()) return absl::InvalidArgumentError("a list of keys is damaged");
    key.resize(shared);
    key.append(rest);
    visit(key);
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
