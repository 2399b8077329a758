// SPDX-License-Identifier: Apache-2.0
// How often did each key occur in a stream? Never too few, and rarely many too many.
//
//   CountMinSketch counts(CountMinOptions::ForError(0.001, 0.01));   // 0.1 % of all, 99 % sure
//   counts.Add("apple");
//   counts.Add("pear", 3);
//   counts.Count("pear");      // 3, or a little more
//
// DESCRIPTION. N being the sum of all counts that were added, Count() of any one key exceeds its
// true count by at most e / width * N with probability 1 - exp(-depth) over the choice of the seed,
// and is never below it. So it tells frequent keys; of keys rarer than e / width * N it tells
// nothing. If the keys follow a skewed distribution, as words do, the error is far smaller than
// that. For the most frequent keys themselves, with their names, use top_k.h.
//
// Conservative update raises only those of the key's counters that would otherwise tell too little.
// The bound stays, and the errors of a stream of words are halved; but then nothing can be removed.
//
// IMPLEMENTATION. `depth` rows of `width` counters of 64 bits; a key has one counter in each row,
// and Count() is the least of them. The rows' hashes are independent remixes of the key's one hash.
// Sources: Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and
// its applications", 2005 (the sketch and its bound); Estan and Varghese, "New directions in
// traffic measurement and accounting", 2002 (conservative update). Bytes: docs/formats/toolbox.md.
//
// Thread safety: const members from any number of threads at once, others from one alone. Threads
// that add at once have a sketch each, to be merged.
// Cost: Add and Count touch `depth` cache lines; 5 ns each while the counters are in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

struct CountMinOptions {
  uint64_t width = 2719;      // counters per row, 1 .. 2^32; the default: within 0.1 % of all
  uint64_t depth = 5;         // rows, 1 .. 64; the default: 99.3 % sure
  bool conservative = false;  // see above
  uint64_t seed = 0;

  // The smallest sketch whose Count() exceeds the truth by more than relative_error times the sum
  // of all counts with a probability of at most failure_probability. Both between 0 and 1
  // exclusively; throws std::invalid_argument otherwise, or if the width would be above its limit.
  static CountMinOptions ForError(double relative_error, double failure_probability);
};

class CountMinSketch {
 public:
  // Throws std::invalid_argument if the options are outside of their ranges.
  explicit CountMinSketch(const CountMinOptions& options);

  // False, and nothing changes, if the sum of all counts would exceed 2^64 - 1.
  bool Add(std::string_view key, uint64_t count = 1) { return AddHash(KeyHash(key), count); }
  bool AddHash(uint64_t key_hash, uint64_t count = 1);

  // Takes back what was added. False: so many were certainly not there, and nothing changed. Taking
  // back what was never added may go unnoticed, and then other keys' counts may be too low.
  // Throws std::logic_error if the update is conservative: nothing can be taken back then.
  bool Remove(std::string_view key, uint64_t count = 1) { return RemoveHash(KeyHash(key), count); }
  bool RemoveHash(uint64_t key_hash, uint64_t count = 1);

  // At least the key's true count.
  uint64_t Count(std::string_view key) const { return CountHash(KeyHash(key)); }
  uint64_t CountHash(uint64_t key_hash) const;

  // Now counts what either counted. False, and nothing changes, if the options differ or the sum
  // of all counts would exceed 2^64 - 1.
  bool Merge(const CountMinSketch& other);

  // The sum of all counts.
  uint64_t total() const { return total_; }
  // Count() exceeds the truth by more than ErrorBound() = e / width * total with a probability of
  // at most FailureProbability() = exp(-depth), for each key.
  double ErrorBound() const;
  double FailureProbability() const;

  size_t MemoryBytes() const;
  const CountMinOptions& options() const { return options_; }
  // The hash of a key that AddHash() and CountHash() want.
  uint64_t KeyHash(std::string_view key) const;

  std::string Serialize() const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<CountMinSketch> Deserialize(std::string_view bytes, std::string* error);

 private:
  // The place of the key's counter of a row.
  size_t CellOf(uint64_t key_hash, uint64_t row) const;

  CountMinOptions options_;
  uint64_t total_ = 0;
  std::vector<uint64_t> cells_;  // row by row
};

}  // namespace rocksieve
