// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/filters.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <rocksieve/filter.h>

#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"
#include "plugin/database/policy_spec.h"
#include "plugin/tables/decoded_filter.h"

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

constexpr std::string_view kBloom = "bloomfilter:", kRibbon = "ribbonfilter:", kOurs = "rocksieve.";
constexpr std::string_view kHashOnly = "hash-only";

bool BeginsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// False if it is not a number, perhaps with a percent sign.
bool ParseAmount(const std::string& text, double* amount, bool* is_rate) {
  char* end = nullptr;
  *amount = std::strtod(text.c_str(), &end);
  *is_rate = *end == '%';
  if (*is_rate) *amount /= 100;
  return end != text.c_str() && end[*is_rate ? 1 : 0] == '\0' && *amount > 0 &&
         *amount < (*is_rate ? 1 : 100);
}

// The least setting, but for 0.001, with which filters of many keys have at most this rate. That of
// Ribbon is the bits of a Bloom filter of equal rate, which RocksDB estimates by another formula.
double BitsForRate(double rate, BuiltinFilter (*filter_of)(uint64_t, double)) {
  constexpr uint64_t kManyKeys = 100000000;
  double too_few = 1, enough = 60;
  while (enough - too_few > 0.001) {
    const double middle = (too_few + enough) / 2;
    (filter_of(kManyKeys, middle).rate <= rate ? enough : too_few) = middle;
  }
  return enough;
}

// A filter that only hashes, whose time is in that of every other one: its readers hash a key as
// rocksieve does, and answer "may match".
class HashOnlyReader final : public rocksdb::FilterBitsReader {
 public:
  using rocksdb::FilterBitsReader::MayMatch;
  bool MayMatch(const rocksdb::Slice& entry) override {
    const std::string_view key(entry.data(), entry.size());
    const uint64_t hash =
        KeyHasher::IsShort(key.size()) ? hasher_.HashShort(key) : HashKey(key, kDefaultSalt);
    return hash != 0;  // true, but no compiler knows
  }

 private:
  const KeyHasher hasher_{kDefaultSalt};
};

}  // namespace

KeySet::KeySet(uint64_t count, uint64_t seed, size_t key_bytes)
    : count_(count), gap_(UINT64_MAX / count), seed_(Mix64(seed)), key_bytes_(key_bytes) {}

void KeySet::WritePresent(uint64_t index, char* key) const {
  const uint64_t in_gap = ScaleTo(gap_, Mix64(seed_ + index * kOddConstant));
  WriteWords((index * gap_ + in_gap) & ~uint64_t{1}, key_bytes_, key);
}

void KeySet::WriteMissing(uint64_t index, char* key) const {
  WriteWords(Mix64(~seed_ + 2 * index) | 1, key_bytes_, key);
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
      set_.WritePresent(ScaleTo(set_.count(), Mix64(first + i)), At(i));
    }
  }
}

std::string Candidate::Make(const std::string& spec, Candidate* candidate) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  if (spec != kHashOnly) {
    const bool ribbon = BeginsWith(spec, kRibbon);
    std::string text = spec;
    double amount = 0;
    bool is_rate = false;
    if (!BeginsWith(spec, kOurs)) {
      if ((!ribbon && !BeginsWith(spec, kBloom)) ||
          !ParseAmount(spec.substr(spec.find(':') + 1), &amount, &is_rate)) {
        return "\"" + spec + "\" is neither rocksieve.FAMILY:AMOUNT nor bloomfilter:AMOUNT nor " +
               "ribbonfilter:AMOUNT; for example bloomfilter:10 or ribbonfilter:0.1%";
      }
      if (is_rate) amount = BitsForRate(amount, ribbon ? BuiltinRibbon : BuiltinBloom);
      text = (ribbon ? "ribbonfilter:" : "bloomfilter:") + std::to_string(amount) +
             (ribbon ? ":-1" : ":false");
    }
    const rocksdb::Status status = NewPolicy(text, &policy);
    if (!status.ok()) return status.getState() != nullptr ? status.getState() : status.ToString();
  }
  candidate->spec_ = spec;
  candidate->policy_ = std::move(policy);
  return "";
}

bool Candidate::is_ours() const { return BeginsWith(spec_, kOurs); }

bool Candidate::is_ribbon() const { return BeginsWith(spec_, kRibbon); }

BuiltFilter Candidate::Build(KeyChunk* chunk, Stopwatch<CpuClock>* watch) const {
  static const rocksdb::BlockBasedTableOptions table_options;
  static const rocksdb::FilterBuildingContext context(table_options);
  BuiltFilter filter;
  if (policy_ == nullptr) {
    filter.memory.reset(new char[1]());
    filter.block = rocksdb::Slice(filter.memory.get(), 1);
    filter.reader = std::make_unique<HashOnlyReader>();
    return filter;
  }
  watch->Start();
  std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy_->GetBuilderWithContext(context));
  watch->Stop();
  const uint64_t keys = chunk->set().count();
  for (uint64_t begin = 0; begin < keys; begin += KeyChunk::kKeys) {
    chunk->FillInOrder(begin, std::min<uint64_t>(KeyChunk::kKeys, keys - begin));
    watch->Start();
    for (size_t i = 0; i < chunk->size(); i++) builder->AddKey((*chunk)[i]);
    watch->Stop();
  }
  watch->Start();
  filter.block = builder->Finish(&filter.memory);
  builder.reset();
  watch->Stop();
  filter.reader.reset(policy_->GetFilterBitsReader(filter.block));
  return filter;
}

double Candidate::ModelRate(std::string_view block, uint64_t keys) const {
  return DecodedFilter::Decode(block, kBuiltinStoredName).PredictedRate(keys);
}

size_t Candidate::RangeBytes(std::string_view block) const {
  if (!is_ours()) return 0;
  const FilterBlockInfo info = OpenFilter(block).info;
  return info.smallest.size() + info.largest.size();
}

}  // namespace rocksieve::bench
