#include "integration/hostile/mutation.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "integration/hostile/bodies.h"
#include "lib/format/byte_io.h"

namespace rocksieve::join {
namespace {

constexpr size_t kMostSeen = 20;
constexpr uint64_t kHugeNumbers[] = {0,       1,          127,        1 << 14,
                                     1 << 21, UINT32_MAX, 1ull << 40, UINT64_MAX};

}  // namespace

void Mutator::ChangeBody(std::string* body) {
  if (body->empty()) return body->push_back('\0');
  // Mostly near the beginning, where the counts are.
  const size_t range = Below(2) == 0 ? std::min<size_t>(24, body->size()) : body->size();
  const size_t at = Below(range);
  switch (Below(6)) {
    case 0:
      (*body)[at] = static_cast<char>((*body)[at] ^ (1 << Below(8)));
      break;
    case 1:
      (*body)[at] = static_cast<char>(random_());
      break;
    case 2:
      body->resize(at);
      break;
    case 3:
      body->append(body->substr(at));
      break;
    case 4:
      body->insert(at, std::string(1 + Below(16), static_cast<char>(random_())));
      break;
    default: {
      // A number in place of another one.
      size_t end = at;
      while (end < body->size() && ((*body)[end] & 0x80) != 0) end++;
      std::string number;
      ByteWriter(&number).Varint(kHugeNumbers[Below(std::size(kHugeNumbers))]);
      body->replace(at, std::min(end + 1, body->size()) - at, number);
    }
  }
}

std::vector<std::string> Mutator::Mutated(const std::string& message, uint32_t rarity) {
  seen_.push_back(message);
  if (seen_.size() > kMostSeen) seen_.erase(seen_.begin());
  if (Below(rarity) != 0) return {message};
  switch (Below(8)) {
    case 0:
      return {};
    case 1:
      return {message, message};
    case 2:
      return {message, seen_[Below(seen_.size())]};
    case 3:
      return {seen_[Below(seen_.size())], message};
    default: {
      std::string body(BodyOf(message));
      for (uint64_t changes = 1 + Below(3); changes > 0; changes--) ChangeBody(&body);
      return {Sealed(std::move(body))};
    }
  }
}

}  // namespace rocksieve::join
