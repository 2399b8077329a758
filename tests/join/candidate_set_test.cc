// SPDX-License-Identifier: Apache-2.0
// Candidates that are taken out and put back, beside a list that is sorted each time.
#include "lib/join/matching/candidates.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/matching/list_step.h"

namespace rocksieve::join {
namespace {

Candidates RandomCandidates(size_t count, std::mt19937_64* random) {
  Candidates candidates;
  uint32_t ordinal = 0;
  for (size_t i = 0; i < count; i++) {
    ordinal += 1 + static_cast<uint32_t>((*random)() % 3);
    candidates.push_back({{(*random)(), (*random)()}, ordinal});
  }
  return candidates;
}

std::vector<uint32_t> Ordinals(const CandidateSet& set) {
  std::vector<uint32_t> ordinals;
  set.ForEach([&](const Candidate& candidate) { ordinals.push_back(candidate.ordinal); });
  return ordinals;
}

std::vector<uint32_t> Ordinals(const Candidates& candidates) {
  std::vector<uint32_t> ordinals;
  for (const Candidate& candidate : candidates) ordinals.push_back(candidate.ordinal);
  return ordinals;
}

void ExpectEqual(const CandidateSet& set, const Candidates& expected) {
  ASSERT_EQ(set.size(), expected.size());
  EXPECT_EQ(set.empty(), expected.empty());
  EXPECT_EQ(Ordinals(set), Ordinals(expected));
  PageVector<uint64_t> hashes;
  for (const Candidate& candidate : expected) hashes.push_back(HashForStep(candidate.hash, 77));
  EXPECT_EQ(set.Hashes(77), hashes);
}

TEST(CandidateSet, IsLikeAListThatIsSorted) {
  std::mt19937_64 random(1);
  const auto by_ordinal = [](const Candidate& a, const Candidate& b) {
    return a.ordinal < b.ordinal;
  };
  for (int round = 0; round < 300; round++) {
    Candidates expected = RandomCandidates(random() % 60, &random);
    CandidateSet set(expected);
    ExpectEqual(set, expected);
    if (round % 2 == 0) {
      std::vector<uint8_t> keep(set.size());
      for (uint8_t& flag : keep) flag = random() % 4 != 0;
      set.Keep(keep);
      size_t i = 0;
      std::erase_if(expected, [&](const Candidate&) { return keep[i++] == 0; });
      ExpectEqual(set, expected);
      EXPECT_EQ(Ordinals(set.all()), Ordinals(expected));
    }
    PageVector<uint32_t> deferred;
    Candidates expected_deferred;
    for (int step = 0; step < 4; step++) {
      std::vector<uint8_t> keep(set.size());
      const uint64_t one_in = 1 + random() % 8;
      for (uint8_t& flag : keep) flag = random() % one_in != 0;
      const bool may_come_back = step % 2 == 0 && deferred.empty();
      set.TakeOut(keep, may_come_back ? &deferred : nullptr);
      size_t i = 0;
      std::erase_if(expected, [&](const Candidate& candidate) {
        if (keep[i++] != 0) return false;
        if (may_come_back) expected_deferred.push_back(candidate);
        return true;
      });
      ExpectEqual(set, expected);
      EXPECT_TRUE(std::is_sorted(deferred.begin(), deferred.end()));
      ASSERT_EQ(deferred.size(), expected_deferred.size());
      for (size_t d = deferred.size(); d-- > 0;) {
        EXPECT_EQ(set.At(deferred[d]).hash, expected_deferred[d].hash);
        if (random() % 3 != 0) continue;
        set.PutBack(deferred[d]);
        expected.push_back(expected_deferred[d]);
        deferred.erase(deferred.begin() + static_cast<std::ptrdiff_t>(d));
        expected_deferred.erase(expected_deferred.begin() + static_cast<std::ptrdiff_t>(d));
      }
      std::sort(expected.begin(), expected.end(), by_ordinal);
      ExpectEqual(set, expected);
    }
    if (round % 3 == 0) {
      EXPECT_EQ(Ordinals(set.Take()), Ordinals(expected));
      EXPECT_TRUE(set.empty());
      continue;
    }
    set.ForgetOut();
    ExpectEqual(set, expected);
    EXPECT_EQ(Ordinals(set.all()), Ordinals(expected));
    set.Clear();
    ExpectEqual(set, {});
  }
}

TEST(IdList, HasWhatIsListed) {
  std::mt19937_64 random(2);
  for (const size_t count : {0, 1, 2, 3, 100, 5000}) {
    for (const int bits : {32, 40, 64}) {
      std::vector<uint64_t> listed(count), others(20000);
      for (uint64_t& id : listed) id = random() >> (64 - bits);
      for (uint64_t& id : others) id = random() >> (64 - bits);
      std::sort(listed.begin(), listed.end());
      const IdList list(listed);
      for (const uint64_t id : listed) {
        EXPECT_TRUE(list.Has(id));
        others.push_back(id ^ uint64_t{1} << (bits - 1));  // alike in the low bits
      }
      for (const uint64_t id : others) {
        EXPECT_EQ(list.Has(id), std::binary_search(listed.begin(), listed.end(), id));
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve::join
