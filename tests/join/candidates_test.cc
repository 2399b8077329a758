// SPDX-License-Identifier: Apache-2.0
// Candidates, their short hashes and how two sides match them, part by part: what wrong estimates
// and wrong bytes do to it.
#include "lib/join/matching/endings.h"
#include "lib/join/matching/matching_range.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

TEST(ShortHashes, AreSortedAsAWhole) {
  std::mt19937_64 random(1);
  for (const size_t count : {0, 1, 2, 3, 4, 5, 100, 10'000}) {
    for (const int bits : {0, 3, 20}) {  // many values are equal, hardly any are
      Candidates candidates(count);
      for (uint32_t i = 0; i < count; i++) candidates[i] = {{random(), random()}, 2 * i};
      ShortHashes list;
      list.salt = random();
      list.universe = std::max<uint64_t>(1, count) << bits;
      std::vector<ShortHash> expected;
      for (uint32_t i = 0; i < count; i++) expected.push_back({list.ValueOf(candidates[i]), i});
      std::sort(expected.begin(), expected.end());
      PageVector<ShortHash> sorted = SortedShortHashes(candidates, list);
      EXPECT_TRUE(
          std::is_sorted(sorted.begin(), sorted.end(),
                         [](const ShortHash& a, const ShortHash& b) { return a.value < b.value; }));
      std::sort(sorted.begin(), sorted.end());  // where values are equal
      EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), expected.begin(), expected.end()))
          << count << " candidates, " << bits << " bits";
    }
  }
}

// Candidates that are taken out and put back, beside a list that is sorted each time.

Candidates RandomCandidates(size_t count, std::mt19937_64* random) {
  Candidates candidates;
  uint32_t ordinal = 0;
  for (size_t i = 0; i < count; i++) {
    ordinal += 1 + static_cast<uint32_t>((*random)() % 3);
    candidates.push_back({{(*random)(), (*random)()}, ordinal});
  }
  return candidates;
}

std::vector<uint32_t> Ordinals(const Candidates& candidates) {
  std::vector<uint32_t> ordinals;
  for (const Candidate& candidate : candidates) ordinals.push_back(candidate.ordinal);
  return ordinals;
}

std::vector<uint32_t> Ordinals(const CandidateSet& set) {
  Candidates candidates;
  set.ForEach([&](const Candidate& candidate) { candidates.push_back(candidate); });
  return Ordinals(candidates);
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

// Reconciling a range, part by part: what wrong estimates and wrong bytes do to it.

void ExpectReconciled(const MatchingCase& matching, const MatchingOutcome& outcome) {
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_EQ(outcome.state, Matching::State::kReconciled);
  EXPECT_TRUE(outcome.client == matching.Common());
  EXPECT_TRUE(outcome.server == matching.Common());
}

TEST(Matching, KeepsToItsLimitOnRoundTrips) {
  for (const double overlap : {0.0, 0.1, 0.5, 0.9, 0.98}) {
    for (const bool client_begins : {false, true}) {
      for (const int most : {1, 2, 4}) {
        constexpr size_t kKeys = 30000;
        MatchingCase matching = RandomCase(kKeys, kKeys, static_cast<size_t>(overlap * kKeys), 5);
        matching.most_round_trips = most;
        matching.client_begins = client_begins;
        const MatchingOutcome outcome = Match(matching);
        SCOPED_TRACE(testing::Message() << overlap << ", " << most << " round trips");
        ExpectReconciled(matching, outcome);
        EXPECT_LE(outcome.round_trips, static_cast<uint64_t>(most + 2));
      }
    }
  }
}

// The overlap wrong by 0.2, or the difference by 30 %.
TEST(Matching, WrongEstimatesCostLittle) {
  constexpr size_t kKeys = 40000;
  for (const double overlap : {0.1, 0.5, 0.9, 0.98}) {
    MatchingCase matching = RandomCase(kKeys, kKeys, static_cast<size_t>(overlap * kKeys), 8);
    const MatchingOutcome right = Match(matching);
    ExpectReconciled(matching, right);
    const double differences = 2 * kKeys * (1 - overlap);
    for (const double wrong_by :
         {0.2 * kKeys, -0.2 * kKeys, 0.15 * differences, -0.15 * differences}) {
      matching.common_estimate =
          std::clamp(overlap * kKeys + wrong_by, 0.0, static_cast<double>(kKeys));
      SCOPED_TRACE(testing::Message()
                   << "overlap " << overlap << " taken for " << matching.common_estimate / kKeys);
      const MatchingOutcome wrong = Match(matching);
      ExpectReconciled(matching, wrong);
      // A difference that is taken for next to nothing makes for symbols alone, ever more of them.
      const bool far_off = matching.common_estimate > (1 + overlap) / 2 * kKeys;
      EXPECT_LE(wrong.round_trips, far_off ? 10u : 6u);
      // Not much more than what is there costs, or what was thought to be there.
      const MatchingOutcome thought =
          Match(RandomCase(kKeys, kKeys, static_cast<size_t>(matching.common_estimate), 9));
      const auto costlier = static_cast<double>(std::max(right.bytes, thought.bytes));
      EXPECT_LE(static_cast<double>(wrong.bytes),
                far_off ? 40 * differences : 1.4 * costlier + 500);
    }
  }
}

TEST(Matching, ExactWithEveryStrategyWhoeverBegins) {
  for (const Strategy strategy : kAllStrategies) {
    for (const bool client_begins : {false, true}) {
      for (const size_t common : {size_t{0}, size_t{1}, size_t{500}, size_t{3990}, size_t{4000}}) {
        MatchingCase matching = RandomCase(4000, 5000, common, 3 + common);
        matching.strategy = strategy;
        matching.client_begins = client_begins;
        SCOPED_TRACE(testing::Message() << NameOf(strategy) << ", common " << common);
        ExpectReconciled(matching, Match(matching));
      }
    }
  }
}

// One bit of any part changed, with no check around it: an error, or a contradiction, or harmless.
TEST(Matching, NoChangedBitGivesAWrongAnswer) {
  std::mt19937_64 random(31);
  for (const Strategy strategy : kAllStrategies) {
    for (const bool client_begins : {false, true}) {
      MatchingCase matching = RandomCase(3000, 3000, 2000, 12);
      matching.strategy = strategy;
      matching.client_begins = client_begins;
      const uint64_t parts = Match(matching).parts;
      ASSERT_GT(parts, 0u);
      for (uint64_t i = 0; i < 12 * parts; i++) {
        const uint64_t where = random();
        matching.tamper = [&](uint64_t n, Part, std::string* body) {
          if (n != i / 12 || body->empty()) return;
          (*body)[where / 8 % body->size()] ^= static_cast<char>(1 << where % 8);
        };
        const MatchingOutcome outcome = Match(matching);
        SCOPED_TRACE(testing::Message()
                     << NameOf(strategy) << ", part " << i / 12 << ", place " << where);
        if (outcome.status.ok() && outcome.state == Matching::State::kReconciled) {
          ExpectReconciled(matching, outcome);
        }
      }
    }
  }
}

TEST(Matching, PartsOutOfTurnAreRefused) {
  const MatchingCase matching = RandomCase(300, 300, 200, 14);
  Candidates candidates;
  for (const std::string& key : matching.client) {
    candidates.push_back({HashKey128(key, 1), static_cast<uint32_t>(candidates.size())});
  }
  for (int part = 0; part < 256; part++) {
    for (const std::string& body : {std::string(), std::string(40, '\0'), std::string(40, '\1')}) {
      Matching::Options options;
      options.salt = 1;
      options.their_count = 300;
      options.common = 100;
      Matching side(candidates, options, nullptr);
      std::string step;
      AppendPart(static_cast<Part>(part), body, &step);
      EXPECT_FALSE(side.Receive(step).ok()) << part;
    }
  }
}

}  // namespace
}  // namespace rocksieve::join
