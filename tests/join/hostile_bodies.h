// SPDX-License-Identifier: Apache-2.0
// Messages and parts of steps that claim more than is behind them, for hostile clients and servers
// alike (docs/protocol.md has the bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/join/matching/planner.h"
#include "lib/join/session/messages.h"

namespace rocksieve::join {

// The parts' bodies, without kind and length.

// Kind 20: that the sender has `keys` candidates, and that so many cells differ.
std::string EmptyCellBitmapOfMany(uint64_t keys);
// Kind 5: a sketch of one group, which says that it is of `keys` candidates.
std::string SketchOfMany(uint64_t keys, int field_bits = 6);
// Kind 4: the symbols begin .. begin + count - 1 of `keys` candidates, random.
std::string RandomSymbols(uint64_t keys, uint64_t begin, uint64_t count);
// Kind 2: a list of 8 * bytes numbers, all of them 0.
std::string ListOfZeros(size_t bytes);
// Kind 3: a list of one key again and again, some 10,000 times smaller than what it unpacks to.
std::string KeysThatUnpackTo(size_t bytes);
// Kind 19, 18: one number.
std::string Number(uint64_t value);

// A step of one part.
Step StepWith(uint64_t range, Part part, std::string_view body);

// A batch of rows that unpacks to what `raw` has.
std::string BatchOf(std::string_view raw);

// `message`, as Encode() wrote it, with another body and the check that belongs to it.
std::string Sealed(std::string body);
// Takes messages off the beginning of the bytes that arrived, as many as are whole: each is
// preceded by its length.
template <typename Visit>
void TakeMessages(std::string* arrived, Visit visit) {
  std::string_view rest = *arrived;
  for (;;) {
    ByteReader in(rest);
    const std::string_view message = in.String();
    if (!in.ok()) break;
    visit(message);
    rest = in.Peek();
  }
  arrived->erase(0, arrived->size() - rest.size());
}
// All but the check. REQUIRES: a whole message.
std::string_view BodyOf(std::string_view message);

// Random changes of messages, with the right check, so that they reach what is behind it.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // What is sent instead of `message`: itself, changed, twice, an older one, or nothing. About one
  // message in `rarity` is not as it was.
  std::vector<std::string> Mutated(const std::string& message, uint32_t rarity);

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  void ChangeBody(std::string* body);

  std::mt19937_64 random_;
  std::vector<std::string> seen_;
};

}  // namespace rocksieve::join
