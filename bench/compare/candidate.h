// SPDX-License-Identifier: Apache-2.0
// The filters that are compared, all seen through the interfaces that RocksDB itself uses.
#pragma once

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/keys.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve::bench {

// A block and the reader that answers from it, as an open table has them.
struct BuiltFilter {
  std::unique_ptr<const char[]> memory;
  rocksdb::Slice block;
  std::unique_ptr<rocksdb::FilterBitsReader> reader;

  std::string_view view() const { return {block.data(), block.size()}; }
};

class Candidate {
 public:
  // Specs: rocksieve.FAMILY:AMOUNT; bloomfilter:AMOUNT and ribbonfilter:AMOUNT for RocksDB's own
  // ones (the latter at all levels). The amount is in bits per key, for Ribbon those of the Bloom
  // filter of equal rate, or a rate such as 0.1%. "hash-only", for times of queries, only hashes.
  // Returns an empty string and fills *candidate, or says what is wrong.
  static std::string Make(const std::string& spec, Candidate* candidate);

  const std::string& spec() const { return spec_; }
  bool is_ours() const;
  bool is_ribbon() const;

  std::unique_ptr<rocksdb::FilterBitsBuilder> NewBuilder() const;
  // Takes over a finished block.
  BuiltFilter Open(std::unique_ptr<const char[]> memory, rocksdb::Slice block) const;

  BuiltFilter Build(const KeySet& keys) const;

  // The rate that the block of so many keys should have.
  double ModelRate(std::string_view block, uint64_t keys) const;

  // What a block spends on the smallest and the largest key; only ours do.
  size_t RangeBytes(std::string_view block) const;

 private:
  std::string spec_;
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;
};

// Filters that are measured in turns and compared with the first of them.
using Candidates = std::vector<Candidate>;

// Adds all present keys of the chunk's set; before_chunk and after_chunk are called around the
// calls of AddKey() alone.
template <typename Before, typename After>
void AddAllKeys(KeyChunk* chunk, rocksdb::FilterBitsBuilder* builder, Before before_chunk,
                After after_chunk) {
  const uint64_t keys = chunk->set().count();
  for (uint64_t begin = 0; begin < keys; begin += KeyChunk::kKeys) {
    chunk->FillInOrder(begin, std::min<uint64_t>(KeyChunk::kKeys, keys - begin));
    before_chunk();
    for (size_t i = 0; i < chunk->size(); i++) builder->AddKey((*chunk)[i]);
    after_chunk();
  }
}

inline void AddAllKeys(KeyChunk* chunk, rocksdb::FilterBitsBuilder* builder) {
  const auto nothing = [] {};
  AddAllKeys(chunk, builder, nothing, nothing);
}

}  // namespace rocksieve::bench
