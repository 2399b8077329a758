// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/key_space.h"

#include <algorithm>

namespace rocksieve {
namespace {

constexpr uint64_t kIntervals = 512;
constexpr size_t kMostBoundaries = 1024;
// Of a damaged index, RocksDB may tell sizes that do not become less with the interval.
constexpr uint64_t kMostSplits = 8 * kIntervals;
constexpr uint64_t kKeySpaceSeed = 20260101;

uint64_t BytesOf(const Database& database, size_t family, const std::string& low,
                 const std::string& high) {
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = false;
  options.include_files = true;
  const rocksdb::Range range(low, high);
  uint64_t bytes = 0;
  const rocksdb::Status status =
      database.db()->GetApproximateSizes(options, database.handle(family), &range, 1, &bytes);
  return status.ok() ? bytes : 0;
}

// The eight bytes from `from` on as a number that sorts like them; missing bytes are 0.
uint64_t EightBytes(std::string_view key, size_t from) {
  uint64_t number = 0;
  for (size_t i = from; i < from + 8; i++) {
    number = number << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return number;
}

// The ends of the files, in the comparator's order; about so many of them at most.
std::vector<std::string> Boundaries(const Tree& tree) {
  std::vector<std::string> keys;
  for (const TreeFile* file : tree.files()) {
    keys.push_back(file->smallest);
    keys.push_back(file->largest);
  }
  const auto before = [&](const std::string& a, const std::string& b) {
    return tree.family.Compare(a, b) < 0;
  };
  std::sort(keys.begin(), keys.end(), before);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const size_t step = keys.size() / kMostBoundaries + 1;
  std::vector<std::string> some;
  for (size_t i = 0; i < keys.size(); i += step) some.push_back(keys[i]);
  if (!keys.empty() && some.back() != keys.back()) some.push_back(keys.back());
  return some;
}

}  // namespace

size_t CommonBytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

std::string KeyBetween(std::string_view low, std::string_view high, Random* random) {
  if (high < low) std::swap(low, high);  // a comparator that orders backwards
  const size_t common = CommonBytes(low, high);
  const uint64_t from = EightBytes(low, common), to = EightBytes(high, common);
  if (to - from < 2) return std::string(low);
  const uint64_t between = std::uniform_int_distribution<uint64_t>(from + 1, to - 1)(*random);
  std::string key(low.substr(0, common));
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(between >> shift);
  return key;
}

KeySpace::KeySpace(const Database& database, size_t family, const Tree& tree) {
  Random random(kKeySpaceSeed);
  const std::vector<std::string> keys = Boundaries(tree);
  std::vector<Interval> found;
  uint64_t bytes = 0;
  for (size_t i = 1; i < keys.size(); i++) {
    found.push_back({keys[i - 1], keys[i], BytesOf(database, family, keys[i - 1], keys[i])});
    bytes += found.back().bytes;
  }
  for (Interval& interval : found) {
    Split(database, family, std::move(interval), bytes / kIntervals, &random);
  }
  double sum = 0;
  for (const Interval& interval : intervals_) {
    sum += static_cast<double>(interval.bytes);
    bytes_up_to_.push_back(sum);
  }
}

void KeySpace::Split(const Database& database, size_t family, Interval interval, uint64_t enough,
                     Random* random) {
  std::vector<Interval> todo = {std::move(interval)};
  while (!todo.empty()) {
    const Interval now = std::move(todo.back());
    todo.pop_back();
    if (now.bytes == 0) continue;
    const std::string middle = KeyBetween(now.low, now.high, random);
    const bool can_split = middle != now.low && middle != now.high;
    if (now.bytes <= enough || !can_split || splits_ == kMostSplits) {
      intervals_.push_back(now);
      continue;
    }
    splits_++;
    todo.push_back({now.low, middle, BytesOf(database, family, now.low, middle)});
    todo.push_back({middle, now.high, BytesOf(database, family, middle, now.high)});
    // All in one data block: RocksDB's index tells no more.
    const bool one_block = todo.back().bytes == 0 || todo[todo.size() - 2].bytes == 0;
    if (one_block && now.bytes < 2 * enough + (1 << 16)) {
      todo.resize(todo.size() - 2);
      intervals_.push_back(now);
    }
  }
}

std::string KeySpace::RandomPlace(Random* random) const {
  const double at = std::uniform_real_distribution<double>(0, bytes_up_to_.back())(*random);
  const auto found = std::upper_bound(bytes_up_to_.begin(), bytes_up_to_.end() - 1, at);
  const Interval& interval = intervals_[static_cast<size_t>(found - bytes_up_to_.begin())];
  return KeyBetween(interval.low, interval.high, random);
}

}  // namespace rocksieve
