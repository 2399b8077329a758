// Keys in order, front-coded: each says how many bytes it shares with the one before. Then zstd,
// which sees what front coding cannot: (docs/protocol.md has the bytes).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <absl/status/status.h>

namespace rocksieve::join {

inline constexpr uint64_t kMostKeyBytes = uint64_t{1} << 26;

// Collects front-coded keys.
class KeyListWriter {
 public:
  void Add(std::string_view key);
  size_t raw_bytes() const { return raw_.size(); }
  // Appends what was collected, compressed, and starts afresh.
  void Finish(std::string* out);

 private:
  std::string raw_, last_;
};

// Calls `visit` for each key, at most so many. Fails if the bytes are not a list, or have more.
absl::Status ReadKeyList(std::string_view bytes, uint64_t most_keys,
                         const std::function<void(std::string_view key)>& visit);

}  // namespace rocksieve::join
