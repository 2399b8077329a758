// SPDX-License-Identifier: Apache-2.0
// Which keys are the most frequent of a stream, and how often did each occur?
//
//   TopK words(TopKOptions{});
//   words.Add("the");                       // and so on, each word of a text
//   for (const TopK::Item& item : words.Top(10)) ...   // item.key, item.count, item.error
//
// DESCRIPTION. N being the sum of all counts that were added and m the number of counters: every
// key that occurred more than N / m times is among the items, and a stated count exceeds the true
// one by at most the stated error, which is at most N / m, and is never below it. Sets of at most m
// distinct keys are counted exactly. All of this is certain, not probable: no hash is involved.
// Streams whose keys are skewed, as words are, are told far better than N / m.
//
// IMPLEMENTATION. Space-Saving: m keys are watched. A key that is not takes the place of the one
// with the least count, and inherits that count as its error. Chosen before a count-min sketch with
// a heap of the best keys, since that needs the keys too, more counters for the same error, and
// holds its bound with some probability only. Sources: Metwally, Agrawal, El Abbadi, "Efficient
// computation of frequent and top-k elements in data streams", 2005; Agarwal et al., "Mergeable
// summaries", 2012 (its merge keeps the bounds). Bytes: docs/formats/toolbox.md.
//
// What is watched depends on the order of the stream, but the same stream gives the same items.
//
// Thread safety: const members from any number of threads at once, others from one alone. Threads
// that add at once have a sketch each, to be merged.
// Cost: Add some 30 ns for a key that is watched, 200 for another, which goes down the whole heap.
// About 110 bytes per counter, and the keys if they are longer than 15 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rocksieve {

struct TopKOptions {
  uint64_t counters = 1000;  // keys that are watched, 1 .. 2^31; of words, 15 times the k of Top(k)
  uint64_t seed = 0;         // of the hash by which keys are looked up; decides among equal counts
};

class TopK {
 public:
  struct Item {
    std::string key;
    uint64_t count = 0;  // at least the true count
    uint64_t error = 0;  // and at most by this much above it
  };

  // Throws std::invalid_argument if the options are outside of their ranges.
  explicit TopK(const TopKOptions& options);

  // False, and nothing changes, if the sum of all counts would exceed 2^64 - 1.
  bool Add(std::string_view key, uint64_t count = 1);

  // At least the key's true count: that of its item, or the least of all if it has none.
  uint64_t Count(std::string_view key) const;

  // The k items (or all, if there are fewer) with the largest counts, the largest first, equal ones
  // in the order of their keys. Those whose count - error is at least the count of the item that
  // follows the k-th are certain to be among the k most frequent.
  std::vector<Item> Top(size_t k) const;

  // Now tells of both streams, with the same bounds. False, and nothing changes, if the options
  // differ or the sum of all counts would exceed 2^64 - 1.
  bool Merge(const TopK& other);

  // The sum of all counts.
  uint64_t total() const { return total_; }
  // The most that a key without an item can have occurred, and that any count can be too large.
  uint64_t ErrorBound() const;

  size_t MemoryBytes() const;
  const TopKOptions& options() const { return options_; }

  std::string Serialize() const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<TopK> Deserialize(std::string_view bytes, std::string* error);

 private:
  struct Slot {
    Item item;
    uint64_t hash = 0;
    size_t place = 0;  // in heap_
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t Find(uint64_t hash, std::string_view key) const;
  void Insert(Item item);
  void Raise(uint32_t slot, uint64_t count);
  void ReplaceLeast(std::string_view key, uint64_t hash, uint64_t count);
  // Whether slot a goes before slot b: by count, then by hash, so that it depends on no history.
  bool Less(uint32_t a, uint32_t b) const;
  void SiftDown(size_t place);
  void SiftUp(size_t place);

  TopKOptions options_;
  uint64_t total_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> heap_;  // of slots, the least first
  std::unordered_multimap<uint64_t, uint32_t> slot_of_hash_;
};

}  // namespace rocksieve
