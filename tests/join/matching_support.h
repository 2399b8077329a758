// SPDX-License-Identifier: Apache-2.0
// Two Matchings in memory, without messages around their steps: nothing checks the bytes.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/matching/matching.h"
#include "lib/join/rows/key_list.h"

namespace rocksieve::join {

using Keys = std::vector<std::string>;  // sorted, each once

class VectorKeyReader final : public KeyReader {
 public:
  explicit VectorKeyReader(const Keys* keys) : keys_(keys) {}
  absl::Status AppendKeys(std::span<const uint32_t> ordinals, Compression compression, uint64_t,
                          std::string* out) override {
    KeyListWriter writer(compression);
    for (const uint32_t ordinal : ordinals) writer.Add((*keys_)[ordinal]);
    writer.Finish(out);
    return absl::OkStatus();
  }

 private:
  const Keys* const keys_;
};

// May change the body of a part; `number` counts the parts of both sides from 0.
using TamperPart = std::function<void(uint64_t number, Part part, std::string* body)>;

struct MatchingCase {
  Keys client, server;
  Strategy strategy = Strategy::kAuto;
  int most_round_trips = 4;
  bool client_begins = false;
  double common_estimate = 0, common_error = 0;
  TamperPart tamper;

  Keys Common() const {
    Keys common;
    std::set_intersection(client.begin(), client.end(), server.begin(), server.end(),
                          std::back_inserter(common));
    return common;
  }
};

struct MatchingOutcome {
  absl::Status status;                                  // of the side that was not content
  Matching::State state = Matching::State::kTheirTurn;  // of the client
  Keys client, server;                                  // what each takes for matched
  uint64_t bytes = 0, round_trips = 0, parts = 0;
};

inline MatchingCase RandomCase(size_t client, size_t server, size_t common, uint64_t seed) {
  std::mt19937_64 random(seed);
  MatchingCase matching;
  for (size_t i = 0; i < client + server - common; i++) {
    const std::string key = std::to_string(random()) + "/" + std::to_string(i);
    if (i < client) matching.client.push_back(key);
    if (i >= client - common) matching.server.push_back(key);
  }
  std::sort(matching.client.begin(), matching.client.end());
  std::sort(matching.server.begin(), matching.server.end());
  matching.common_estimate = static_cast<double>(common);
  return matching;
}

inline MatchingOutcome Match(const MatchingCase& matching) {
  constexpr uint64_t kSalt = 99;
  const Keys* const keys[2] = {&matching.client, &matching.server};
  VectorKeyReader readers[2] = {VectorKeyReader(keys[0]), VectorKeyReader(keys[1])};
  std::deque<Matching> sides;  // which are not moved
  for (const int side : {0, 1}) {
    Candidates candidates;
    for (const std::string& key : *keys[side]) {
      candidates.push_back({HashKey128(key, kSalt), static_cast<uint32_t>(candidates.size())});
    }
    Matching::Options options;
    options.salt = kSalt;
    options.is_client = side == 0;
    options.begins = options.is_client == matching.client_begins;
    options.their_count = static_cast<double>(keys[1 - side]->size());
    options.their_count_is_exact = true;
    options.common = matching.common_estimate;
    options.common_error = matching.common_error;
    options.planner.strategy = matching.strategy;
    options.planner.most_round_trips = matching.most_round_trips;
    sides.emplace_back(std::move(candidates), options, &readers[side]);
  }
  MatchingOutcome outcome;
  constexpr int kMostTurns = 100;
  for (int turn = 0; turn < kMostTurns && outcome.status.ok(); turn++) {
    const int from = sides[0].state() == Matching::State::kMyTurn ? 0 : 1;
    if (sides[static_cast<size_t>(from)].state() != Matching::State::kMyTurn) break;
    std::string bytes, sent;
    outcome.status = sides[static_cast<size_t>(from)].NextStep(&bytes);
    if (!outcome.status.ok()) break;
    VisitParts(bytes, [&](Part part, std::string_view body) {
      std::string changed(body);
      if (matching.tamper) matching.tamper(outcome.parts, part, &changed);
      AppendPart(part, changed, &sent);
      outcome.parts++;
    });
    outcome.bytes += sent.size();
    Matching& to = sides[static_cast<size_t>(1 - from)];
    EXPECT_EQ(to.state(), Matching::State::kTheirTurn);
    if (to.state() != Matching::State::kTheirTurn) break;
    outcome.status = to.Receive(sent);
  }
  outcome.state = sides[0].state();
  outcome.round_trips = sides[0].counts().turns / 2;
  for (const Candidate& key : sides[0].matched()) {
    outcome.client.push_back(matching.client[key.ordinal]);
  }
  for (const Candidate& key : sides[1].matched()) {
    outcome.server.push_back(matching.server[key.ordinal]);
  }
  return outcome;
}

}  // namespace rocksieve::join
