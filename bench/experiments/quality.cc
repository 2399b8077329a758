// SPDX-License-Identifier: Apache-2.0
// The experiment "quality": are the places that filters choose for keys uniform and independent, as
// every formula for their rates assumes? A hash that is bad on purpose must fail the same tests.
#include "bench/experiments/experiment.h"
#include "bench/experiments/statistics.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

struct KeySet {
  std::string name;
  std::vector<std::string> keys;
};

std::string AsBytes(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<char>(number >> (8 * i));
  return bytes;
}

std::vector<KeySet> KeySets(bool quick) {
  const size_t count = quick ? 200'000 : 600'000;
  KeySet words{"words", ShuffledDistinctWords()}, numbers{"numbers, 8 bytes", {}},
      names{"user1, user2...", {}};
  words.keys.resize(std::min(words.keys.size(), count));
  for (size_t i = 0; i < count; i++) {
    numbers.keys.push_back(AsBytes(i));
    names.keys.push_back("user" + std::to_string(i));
  }
  return {words, numbers, names};
}

std::string Said(const Verdict& verdict) {
  if (!verdict.Uniform()) return "not uniform";
  return verdict.Independent() ? "good" : "dependent";
}

bool AsExpected(const Scheme& scheme, const Verdict& verdict) {
  const bool good = verdict.Uniform() && verdict.Independent();
  switch (scheme.expectation) {
    case Expectation::kPass:
      return good;
    case Expectation::kFail:
      return !good;
    case Expectation::kPartial:
      return verdict.Uniform();
  }
  return false;
}

}  // namespace

void MeasureQuality(Run* run) {
  Table table;
  table.name = "quality";
  table.title = "FILTER QUALITY";
  const std::vector<KeySet> sets = KeySets(run->settings.quick);
  table.explanation =
      Thousands(sets[0].keys.size()) +
      " keys of each kind. Standard scores (of chance: about 1, the worst of many about 3; "
      "beyond " +
      Shortest(kMostScore) +
      " is no chance), each the worst of all coordinates of a filter's place for a key: chi-square "
      "of each coordinate; correlation and chi-square of each pair; chi-square of the first three "
      "together, which is no part of the verdict, since three probes of double hashing hang "
      "together by definition. The last two schemes are bad on purpose and must fail. With partial "
      "keys a cuckoo filter's second bucket follows from the first and a short fingerprint, so "
      "that some pairs of buckets are more frequent than others.";
  table.columns = {{"scheme", "", "scheme", Kind::kText},
                   {"uniformity_score", "uni-", "formity", Kind::kSignificant, 3},
                   {"correlation_score", "corre-", "lation", Kind::kSignificant, 3},
                   {"independence_score", "pairs,", "chi-square", Kind::kSignificant, 3},
                   {"three_wise_score", "three,", "chi-square", Kind::kSignificant, 3},
                   {"verdict", "", "verdict", Kind::kText}};
  for (const KeySet& set : sets) {
    for (const Scheme& scheme : Schemes()) {
      run->Begin(set.name + ", " + scheme.name);
      const Verdict verdict = Judge(scheme, set.keys);
      nlohmann::json row = {{"group", "Keys: " + set.name},
                            {"keys", set.name},
                            {"key_count", set.keys.size()},
                            {"scheme", scheme.name},
                            {"uniformity_score", verdict.uniformity.score},
                            {"uniformity_of", verdict.uniformity.of},
                            {"correlation_score", verdict.correlation.score},
                            {"correlation_of", verdict.correlation.of},
                            {"independence_score", verdict.independence.score},
                            {"independence_of", verdict.independence.of},
                            {"verdict", Said(verdict)}};
      if (scheme.coordinates.size() >= 3) row["three_wise_score"] = verdict.three_wise.score;
      table.rows.push_back(std::move(row));
      if (!AsExpected(scheme, verdict)) {
        run->Fail("quality: " + scheme.name + " on " + set.name + " is " + Said(verdict) +
                  ", see its row");
      }
    }
  }
  run->Add(table);
}

}  // namespace rocksieve::experiments
