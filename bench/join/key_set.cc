// SPDX-License-Identifier: Apache-2.0
#include "bench/join/key_set.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>

namespace rocksieve::bench {
namespace {

class KeyCursor final : public join::Cursor {
 public:
  KeyCursor(const Key* begin, const Key* end) : next_(begin), end_(end) {}
  bool Next(join::Row* row) override {
    if (next_ == end_) return false;
    *row = {next_->view(), {}};
    next_++;
    return true;
  }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  const Key* next_;
  const Key* const end_;
};

const Key* FirstNotBelow(const Keys& keys, std::string_view bound) {
  return std::lower_bound(keys.data(), keys.data() + keys.size(), bound,
                          [](const Key& key, std::string_view view) { return key.view() < view; });
}

}  // namespace

KeySets RandomKeySets(uint64_t client, uint64_t server, uint64_t common, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto fill = [&random](uint64_t count, Keys* keys) {
    keys->resize(count);
    for (Key& key : *keys) {
      for (size_t at = 0; at < key.bytes.size(); at += sizeof(uint64_t)) {
        const uint64_t word = random();
        std::memcpy(key.bytes.data() + at, &word, sizeof(word));
      }
    }
  };
  KeySets sets;
  fill(client, &sets.client);
  fill(server, &sets.server);
  std::copy_n(sets.client.begin(), common, sets.server.begin());
  std::sort(sets.client.begin(), sets.client.end());
  std::sort(sets.server.begin(), sets.server.end());
  return sets;
}

Keys KeySets::Common() const {
  Keys common;
  std::set_intersection(client.begin(), client.end(), server.begin(), server.end(),
                        std::back_inserter(common));
  return common;
}

std::unique_ptr<join::Cursor> KeySource::Scan(const join::KeyInterval& interval) {
  const Key* const end =
      interval.end ? FirstNotBelow(*keys_, *interval.end) : keys_->data() + keys_->size();
  return std::make_unique<KeyCursor>(std::min(FirstNotBelow(*keys_, interval.begin), end), end);
}

}  // namespace rocksieve::bench
