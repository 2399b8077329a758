#include "bench/join/grid_keys.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <random>

namespace rocksieve::bench {
namespace {

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; i--, number >>= 8) bytes[static_cast<size_t>(i)] = char(number & 0xff);
  return bytes;
}

std::string RandomBytes(std::mt19937_64* random) {
  return BigEndian((*random)()) + BigEndian((*random)());
}

std::string Uuid(std::mt19937_64* random) {
  const uint64_t high = (*random)(), low = (*random)();
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-%04x-4%03x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xfff),
                static_cast<unsigned>(0x8000 | (low >> 48 & 0x3fff)),
                static_cast<unsigned long long>(low & 0xffffffffffff));
  return text;
}

// Of a tree with some dozens of files in a directory.
std::string Path(uint64_t number) {
  static constexpr const char* kWords[] = {"index", "main",  "table", "reader", "config", "test",
                                           "build", "merge", "range", "option", "cache",  "write"};
  std::mt19937_64 random(number);
  const uint64_t directory = number / 40;
  return "/srv/data/project" + std::to_string(directory / 300) + "/src/" +
         kWords[directory / 25 % 12] + "/" + kWords[directory % 12] +
         std::to_string(directory % 300) + "/" + kWords[random() % 12] + "_" +
         kWords[random() % 12] + std::to_string(number % 40) + ".cc";
}

// Distinct keys, in an order in which any part of them is like the others.
std::vector<std::string> MakeKeys(KeyShape shape, uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> keys;
  keys.reserve(count);
  for (uint64_t i = 0; i < count; i++) {
    switch (shape) {
      case KeyShape::kRandom:
        keys.push_back(RandomBytes(&random));
        break;
      case KeyShape::kDenseIds:
        keys.push_back(BigEndian(1000000 + i));
        break;
      case KeyShape::kUuids:
        keys.push_back(Uuid(&random));
        break;
      case KeyShape::kPaths:
        keys.push_back(Path(i));
        break;
    }
  }
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

}  // namespace

std::string_view NameOf(KeyShape shape) {
  switch (shape) {
    case KeyShape::kRandom:
      return "random";
    case KeyShape::kDenseIds:
      return "dense-ids";
    case KeyShape::kUuids:
      return "uuids";
    case KeyShape::kPaths:
      return "paths";
  }
  return "unknown";
}

std::vector<std::string> GridSets::Common() const {
  std::vector<std::string> common;
  std::set_intersection(client.begin(), client.end(), server.begin(), server.end(),
                        std::back_inserter(common));
  return common;
}

GridSets MakeGridSets(KeyShape shape, uint64_t client, uint64_t server, uint64_t common,
                      uint64_t seed) {
  const std::vector<std::string> keys = MakeKeys(shape, client + server - common, seed);
  const auto shared = keys.begin() + static_cast<std::ptrdiff_t>(client - common);
  const auto end_of_client = keys.begin() + static_cast<std::ptrdiff_t>(client);
  GridSets sets;
  sets.client.assign(keys.begin(), end_of_client);
  sets.server.assign(shared, keys.end());
  std::sort(sets.client.begin(), sets.client.end());
  std::sort(sets.server.begin(), sets.server.end());
  return sets;
}

}  // namespace rocksieve::bench
