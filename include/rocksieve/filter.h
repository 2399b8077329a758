// SPDX-License-Identifier: Apache-2.0
// Static filters over sets of keys: built once from all keys, then only asked.
//
//   FilterBuilder builder(spec);              // spec: see filter_spec.h
//   builder.AddKey("apple");
//   FilterBlock block = builder.Finish();     // bytes for a file, the wire, or memory
//   OpenedFilter opened = OpenFilter(block.view());
//   if (opened.filter && !opened.filter->MayContain("pear")) ...   // "pear" was never added
//
// The promise: a key that was added is always answered with true. A key that was not is answered
// with true at about ExpectedFalsePositiveRate(). Whoever gets no filter from OpenFilter() must
// treat every key as possibly present.
//
// Block bytes are described in docs/formats/; they are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rocksieve/filter_spec.h>

namespace rocksieve {

// A filter that is read in place: the block's bytes must outlive it.
// Thread safety: all members may be called from any number of threads at once.
class Filter {
 public:
  virtual ~Filter() = default;
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  // False only if the key was not added. Cost: some 10 ns and one or two cache lines.
  virtual bool MayContain(std::string_view key) const { return MayContainHash(KeyHash(key)); }

  // False only if no key was added that lies in [begin, end), in bytewise order. Only filters of
  // rocksieve.range ever say so; the others always answer with true. Cost: some 100 ns.
  virtual bool MayContainRange(std::string_view /*begin*/, std::string_view /*end*/) const {
    return true;
  }

  // The same for a key that is already hashed, with KeyHash(key). Of rocksieve.range, often true
  // where MayContain() is false.
  bool MayContainHash(uint64_t key_hash) const { return query_(*this, key_hash); }

  // Answers `count` hashes at once: the memory accesses overlap, which is what makes it faster than
  // single calls when the filter is not in the processor's caches.
  virtual void MayContainHashes(const uint64_t* key_hashes, size_t count,
                                bool* may_contain) const = 0;

  uint64_t KeyHash(std::string_view key) const;
  uint64_t salt() const { return salt_; }

 protected:
  // A pointer to the kernel instead of a virtual function: a query takes a few nanoseconds, so one
  // call more would be felt. It is given the filter that it belongs to.
  using Query = bool (*)(const Filter& filter, uint64_t key_hash);
  Filter(uint64_t salt, Query query) : query_(query), salt_(salt) {}

 private:
  const Query query_;
  const uint64_t salt_;
};

// What a block says of itself. The views point into the block.
struct FilterBlockInfo {
  Family family = Family::kBloom;
  // Bloom: probes per key, plus 128 if the build was thorough, 64 if it was fast.
  // Cuckoo: bits of narrow fingerprints.
  // Ribbon: columns of narrow groups, plus 32 if its head is compact, plus 64 times the reseed; 0
  // for "may contain every key".
  // Range: the number of its parts.
  uint8_t parameter = 0;
  uint64_t key_count = 0;
  bool salted = false;
  uint64_t salt = 0;
  std::string_view payload;
  // The smallest and the largest entry in bytewise order, cut to kMaxRangeKeyBytes at most. If
  // largest_cut, every entry that begins with `largest` belongs to the range too.
  std::string_view smallest;
  std::string largest;
  bool largest_cut = false;
};

enum class BlockState {
  kIntact,
  kForeign,        // nothing in it is ours: some other filter's block
  kDamaged,        // ours, but not as it was written
  kFutureVersion,  // ours and undamaged, from a version or a family that this one does not know
};

struct OpenedFilter {
  BlockState state = BlockState::kForeign;
  FilterBlockInfo info;            // meaningful if kIntact
  std::unique_ptr<Filter> filter;  // null unless kIntact
};

// Reads the whole block once, to verify its check word (some 10 GB/s). Never reads outside of it,
// whatever it holds.
OpenedFilter OpenFilter(std::string_view block);

struct FilterBlock {
  std::unique_ptr<char[]> data;
  size_t size = 0;
  // Fraction of the key space for which construction failed and every query answers "maybe": 0,
  // but for keys that were chosen so that they cannot be placed (see `salted` in filter_spec.h).
  double saturated_fraction = 0;
  std::string_view view() const { return {data.get(), size}; }
};

// Collects keys, in any order and with duplicates, and builds one filter after another.
// The same keys with the same number of repetitions (but for adjacent ones, which do not count)
// give equal blocks, unless the spec asks for a salt. Memory, beyond the filter itself: 8 bytes
// per key, inside Finish() up to 21; of rocksieve.range the keys, without what neighbours share.
// Thread safety: none.
class FilterBuilder {
 public:
  // Throws std::invalid_argument, with Parse()'s words, for a spec that Parse() would not have
  // made.
  explicit FilterBuilder(const FilterSpec& spec);
  ~FilterBuilder();

  void AddKey(std::string_view key);

  // Keys added since the start or the last Finish(), adjacent duplicates counted once.
  size_t key_count() const;

  // Builds the filter and starts afresh. Never fails but for lack of memory (std::bad_alloc); the
  // keys are gone then as well.
  FilterBlock Finish();

  const FilterSpec& spec() const { return spec_; }

 private:
  struct State;

  FilterSpec spec_;
  const std::unique_ptr<State> state_;
};

// The rate that the documentation of the spec's family promises for a filter of `key_count` keys
// (sources: lib/FAMILY/plan.h). 0 for no keys.
double ExpectedFalsePositiveRate(const FilterSpec& spec, uint64_t key_count);

// The same for a block that exists: what its size and parameters promise.
double ExpectedFalsePositiveRate(const FilterBlockInfo& info);

// Entries longer than this are stored cut, see FilterBlockInfo.
inline constexpr size_t kMaxRangeKeyBytes = 32;

}  // namespace rocksieve
