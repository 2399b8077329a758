// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/keys.h"

#include <cstring>

namespace rocksieve::bench {
namespace {

constexpr uint64_t kOddConstant = 0x9E3779B97F4A7C15;

// The first word in big-endian order, so that keys sort by it; all further ones depend on it.
void WriteWords(uint64_t first_word, size_t key_bytes, char* key) {
  uint64_t word = __builtin_bswap64(first_word);
  std::memcpy(key, &word, 8);
  for (size_t at = 8; at < key_bytes; at += 8) {
    word = word * kOddConstant + at;
    std::memcpy(key + at, &word, 8);
  }
}

}  // namespace

KeySet::KeySet(uint64_t count, uint64_t seed, size_t key_bytes)
    : count_(count), gap_(UINT64_MAX / count), seed_(Mix(seed)), key_bytes_(key_bytes) {}

void KeySet::WritePresent(uint64_t index, char* key) const {
  const uint64_t in_gap = ScaleTo(gap_, Mix(seed_ + index * kOddConstant));
  WriteWords((index * gap_ + in_gap) & ~uint64_t{1}, key_bytes_, key);
}

void KeySet::WriteMissing(uint64_t index, char* key) const {
  WriteWords(Mix(~seed_ + 2 * index) | 1, key_bytes_, key);
}

KeyChunk::KeyChunk(const KeySet& set)
    : set_(set),
      stride_(set.key_bytes() + 1),
      bytes_(1 + kKeys * stride_),
      slices_(kKeys),
      pointers_(kKeys) {
  for (size_t i = 0; i < kKeys; i++) {
    slices_[i] = {At(i), set.key_bytes()};
    pointers_[i] = &slices_[i];
  }
}

void KeyChunk::FillInOrder(uint64_t begin, size_t size) {
  size_ = size;
  for (size_t i = 0; i < size; i++) set_.WritePresent(begin + i, At(i));
}

void KeyChunk::FillAtRandom(KeyKind kind, uint64_t number, size_t size) {
  size_ = size;
  const uint64_t first = number * kKeys;
  if (kind == KeyKind::kMissing) {
    for (size_t i = 0; i < size; i++) set_.WriteMissing(first + i, At(i));
  } else {
    for (size_t i = 0; i < size; i++) {
      set_.WritePresent(ScaleTo(set_.count(), Mix(first + i)), At(i));
    }
  }
}

rocksdb::Slice** KeyChunk::Pointers() { return pointers_.data(); }

}  // namespace rocksieve::bench
