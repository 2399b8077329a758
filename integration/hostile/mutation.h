// Random changes of messages, with the right check, so that they reach what is behind it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rocksieve::join {

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
