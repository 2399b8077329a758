#include "lib/transport/token.h"

#include <algorithm>
#include <fstream>

#include <absl/strings/str_cat.h>

#include "lib/transport/credentials.h"

namespace rocksieve::join {
namespace {

constexpr size_t kLeastTokenBytes = 16;

bool SameBytes(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); i++) {
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
  }
  return difference == 0;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadTokens(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("cannot read the tokens in ", path,
                                            ": is the file there, and may this user read it?"));
  }
  const absl::Status is_private = CheckIsPrivate(path);
  if (!is_private.ok()) return is_private;
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    const bool printable =
        std::all_of(line.begin(), line.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
    if (line.size() < kLeastTokenBytes || !printable) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": a token must have ", kLeastTokenBytes,
                       " or more printable characters and no spaces: openssl rand -hex 32"));
    }
    tokens.push_back(line);
  }
  if (tokens.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no token: openssl rand -hex 32 makes one"));
  }
  return tokens;
}

bool IsToken(std::string_view given, const std::vector<std::string>& tokens) {
  bool found = false;
  for (const std::string& token : tokens) found |= SameBytes(given, token);
  return found;
}

}  // namespace rocksieve::join
