// SPDX-License-Identifier: Apache-2.0
// Filter blocks, what filters are built of, and their specs.
#include <string>
#include <vector>

#include <rocksieve/filter.h>
#include <rocksieve/filter_spec.h>

#include "lib/budget/auto_spec.h"
#include "lib/filter/builder.h"
#include "lib/format/block.h"
#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"
#include "tests/fuzz/target.h"

// A filter block from elsewhere: opened and asked, one by one and in batches, at any instruction
// set's kernel. The first byte chooses whether frame and check word are made right, so that a
// changed payload comes to the families' readers.
//
// Oracle: both ways to ask give the same answer, and what the block says of itself lies in it.
namespace rocksieve::fuzz {
namespace {

constexpr size_t kTailMagicBytes = 9;  // with the trailer
constexpr unsigned char kMagic[] = {0x8A, 0x52, 0x4B, 0x53};
constexpr unsigned char kEnd[kTailMagicBytes] = {0x53, 0x4B, 0x52, 0x8A, 0xFF,
                                                 0x52, 0x00, 0x53, 0x31};

// Frame and check word as SealBlock() would have them.
void MakeRight(std::string* block) {
  if (block->size() < kLeastBlockBytes) return;
  std::memcpy(block->data(), kMagic, sizeof(kMagic));
  if ((*block)[4] != 2) (*block)[4] = 1;
  std::memcpy(block->data() + block->size() - kTailMagicBytes, kEnd, sizeof(kEnd));
  const size_t check_at = block->size() - kTailMagicBytes - 8;
  StoreLittleEndian64(block->data() + check_at,
                      HashKey(std::string_view(*block).substr(0, check_at), 0));
}

bool LiesIn(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void Ask(const Filter& filter, uint64_t seed) {
  constexpr size_t kHashes = 67;  // not a multiple of any kernel's batch
  std::vector<uint64_t> hashes(kHashes);
  for (size_t i = 0; i < kHashes; i++) hashes[i] = SplitMix64(seed, i);
  hashes[0] = 0;
  hashes[1] = UINT64_MAX;
  for (const size_t count : {kHashes, size_t{16}, size_t{7}, size_t{1}, size_t{0}}) {
    const std::unique_ptr<bool[]> answers(new bool[count]);
    filter.MayContainHashes(hashes.data(), count, answers.get());
    for (size_t i = 0; i < count; i++) {
      FUZZ_CHECK(answers[i] == filter.MayContainHash(hashes[i]));
    }
  }
  const bool by_key = filter.MayContain("a key");
  FUZZ_CHECK(!by_key || filter.MayContainHash(filter.KeyHash("a key")));
  Use(by_key);
  // Ranges of one key, of a few, of all; with and without bytes that cells are filled up with.
  const std::string_view bounds[] = {{"\0", 1}, "a", "a key", {"a key\0", 6}, "b", "z", "\xff\xff"};
  for (const std::string_view begin : bounds) {
    for (const std::string_view end : bounds) Use(filter.MayContainRange(begin, end));
  }
}

}  // namespace
}  // namespace rocksieve::fuzz

FUZZ_TARGET(filter_block) {
  using namespace rocksieve::fuzz;
  Choices choices(input);
  const bool right = choices.Flag();
  std::string bytes(choices.Rest());
  if (right) MakeRight(&bytes);
  const ExactCopy block(bytes);
  const rocksieve::OpenedFilter opened = rocksieve::OpenFilter(block.view());
  FUZZ_CHECK((opened.filter != nullptr) == (opened.state == rocksieve::BlockState::kIntact));
  if (opened.filter == nullptr) return;
  for (const std::string_view part : {opened.info.payload, opened.info.smallest}) {
    FUZZ_CHECK(LiesIn(part, block.view()));
  }
  FUZZ_CHECK(opened.info.largest.size() <= rocksieve::kMaxRangeKeyBytes);
  const double rate = ExpectedFalsePositiveRate(opened.info);
  FUZZ_CHECK(rate >= 0 && rate <= 1);
  Ask(*opened.filter, input.size());
}

// Keys and a spec from elsewhere: what a filter is built of by whoever chooses the keys.
//
// Oracle: no false negative, Verify() is content, and the block opens.
FUZZ_TARGET(filter_build) {
  using namespace rocksieve;
  fuzz::Choices choices(input);
  FilterSpec spec;
  spec.family = static_cast<Family>(1 + choices.UpTo(2));
  const uint8_t options = choices.Byte();
  spec.thorough = (options & 1) != 0;
  spec.verified = (options & 2) != 0;
  spec.fast = (options & 4) != 0;
  // Amounts in quarters of a bit: what Parse() allows of them.
  spec.amount = 1 + static_cast<double>(choices.UpTo(124)) / 4;
  FilterSpec allowed;
  if (!FilterSpec::Parse(spec.ToString(), &allowed).empty()) return;
  const double factor = 0.5 + static_cast<double>(choices.UpTo(255)) / 170;

  BlockBuilder builder(allowed);
  builder.KeepKeysForVerification();
  // Some keys as they stand there, and runs of similar ones.
  std::vector<std::string> keys;
  while (!choices.empty()) {
    const std::string key(choices.String());
    const uint64_t similar = choices.UpTo(255);
    keys.push_back(key);
    for (uint64_t i = 0; i < similar; i++) keys.push_back(key + std::to_string(i));
  }
  for (const std::string& key : keys) builder.AddKey(key);
  const FilterBlock block = builder.Finish(factor);
  FUZZ_CHECK(builder.Verify(block.view()).empty());
  const fuzz::ExactCopy copy(block.view());
  const OpenedFilter opened = OpenFilter(copy.view());
  FUZZ_CHECK(opened.state == BlockState::kIntact);
  std::vector<uint64_t> hashes;
  for (const std::string& key : keys) {
    FUZZ_CHECK(opened.filter->MayContain(key));
    hashes.push_back(opened.filter->KeyHash(key));
  }
  const std::unique_ptr<bool[]> answers(new bool[hashes.size()]);
  opened.filter->MayContainHashes(hashes.data(), hashes.size(), answers.get());
  for (size_t i = 0; i < hashes.size(); i++) FUZZ_CHECK(answers[i]);
}

// Specs as text, from an OPTIONS file or a command line.
//
// Oracle: what is taken has a canonical form, which is taken again and means the same; what is
// refused says why.
namespace rocksieve::fuzz {
namespace {

template <typename Spec>
void ParseAs(std::string_view text) {
  Spec spec;
  const std::string error = Spec::Parse(text, &spec);
  if (!error.empty()) return;
  const std::string canonical = spec.ToString();
  FUZZ_CHECK(canonical.find_first_of("=;{}") == std::string::npos);
  Spec again;
  FUZZ_CHECK(Spec::Parse(canonical, &again).empty());
  FUZZ_CHECK(again.ToString() == canonical);
}

}  // namespace
}  // namespace rocksieve::fuzz

FUZZ_TARGET(spec) {
  using namespace rocksieve;
    fuzz::ParseAs<FilterSpec>(input);
  fuzz::ParseAs<AutoSpec>(input);
  fuzz::Use(AutoSpec::IsMeant(input));
}
