// SPDX-License-Identifier: Apache-2.0
// Keys and a spec from elsewhere: what a filter is built of by whoever chooses the keys.
//
// Oracle: no false negative, Verify() is content, and the block opens.
#include <vector>

#include "tests/fuzz/target.h"
#include "lib/filter/builder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  fuzz::Choices choices(data, size);
  FilterSpec spec;
  spec.family = static_cast<Family>(1 + choices.UpTo(2));
  const uint8_t options = choices.Byte();
  spec.thorough = (options & 1) != 0;
  spec.verified = (options & 2) != 0;
  // Amounts in quarters of a bit: what Parse() allows of them.
  spec.amount = 1 + static_cast<double>(choices.UpTo(124)) / 4;
  FilterSpec allowed;
  if (!FilterSpec::Parse(spec.ToString(), &allowed).empty()) return 0;
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
  return 0;
}
