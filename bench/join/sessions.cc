// SPDX-License-Identifier: Apache-2.0
#include "bench/join/sessions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "bench/clock.h"
#include "lib/format/byte_io.h"
#include "lib/hash/key_hash128.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/server_session.h"
#include "lib/transport/frame.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

class KeyCursor final : public join::Cursor {
 public:
  KeyCursor(const Key* begin, const Key* end) : next_(begin), end_(end) {}
  bool Next(join::Row* row) override {
    if (next_ == end_) return false;
    *row = {next_->view(), {}};
    next_++;
    return true;
  }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  const Key* next_;
  const Key* const end_;
};

const Key* FirstNotBelow(const Keys& keys, std::string_view bound) {
  return std::lower_bound(keys.data(), keys.data() + keys.size(), bound,
                          [](const Key& key, std::string_view view) { return key.view() < view; });
}

class KeySource final : public join::Source {
 public:
  explicit KeySource(const Keys* keys) : keys_(keys) {}

  std::unique_ptr<join::Cursor> Scan(const join::KeyInterval& interval) override {
    const Key* const end =
        interval.end ? FirstNotBelow(*keys_, *interval.end) : keys_->data() + keys_->size();
    return std::make_unique<KeyCursor>(std::min(FirstNotBelow(*keys_, interval.begin), end), end);
  }
  uint64_t EstimateKeys() override { return keys_->size(); }

 private:
  const Keys* const keys_;
};

constexpr uint64_t kBitsPerKey = 10;
constexpr int kProbes = 7;  // 10 ln 2

class TextbookBloom {
 public:
  explicit TextbookBloom(const Keys& keys) : bits_(keys.size() * kBitsPerKey + 1) {
    for (const Key& key : keys) {
      Visit(key, [this](uint64_t bit) {
        bits_[bit] = true;
        return true;
      });
    }
  }

  bool MayContain(const Key& key) const {
    return Visit(key, [this](uint64_t bit) { return bits_[bit]; });
  }

  uint64_t bytes() const { return bits_.size() / 8 + 1; }

 private:
  // Until `at` says false.
  template <typename At>
  bool Visit(const Key& key, At at) const {
    const KeyHash128 hash = HashKey128(key.view(), 0);
    for (int probe = 0; probe < kProbes; probe++) {
      if (!at((hash.low + static_cast<uint64_t>(probe) * (hash.high | 1)) % bits_.size())) {
        return false;
      }
    }
    return true;
  }

  std::vector<bool> bits_;
};

constexpr uint64_t kEnvelopeBytes = 5;  // of a frame as protobuf: two tags, lengths

// Takes the keys that only the client has, which must be all but the common ones.
class UnmatchedKeys final : public join::Sink {
 public:
  UnmatchedKeys(const Keys& client, const Keys& common) {
    std::set_difference(client.begin(), client.end(), common.begin(), common.end(),
                        std::back_inserter(expected_));
  }
  absl::Status Add(const join::Row& row, join::Side) override {
    wrong_ |= added_ >= expected_.size() || row.key != expected_[added_].view();
    added_++;
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    committed_ = added_;
    return absl::OkStatus();
  }
  absl::Status Discard() override {
    added_ = committed_;
    return absl::OkStatus();
  }
  bool IsRight() const { return !wrong_ && committed_ == expected_.size(); }

 private:
  Keys expected_;
  size_t added_ = 0, committed_ = 0;
  bool wrong_ = false;
};

struct Sent {
  std::string message;
  double arrival = 0;
  int hops = 0;
};

// One end: a session, its clocks, and what is on its way to it.
struct End {
  join::Session* session = nullptr;
  std::vector<double> cores;  // when each of them can go on
  double said = 0;            // when what is said now is known: what led to it was computed
  double link_free = 0;       // when what it has sent before has left
  int hops = 0;               // times that somebody waited for the other, until now
  bool may_speak = true;
  std::deque<Sent> inbox;

  // When it would do something next; negative if it has nothing to do.
  double NextAction() const {
    const double free = *std::min_element(cores.begin(), cores.end());
    if (may_speak) return std::max(said, free);
    return inbox.empty() ? -1 : std::max(free, inbox.front().arrival);
  }
  // Computes from `begin` on, on the core that waits least for it, or else is free first; when it
  // is done.
  double Compute(double begin, double seconds) {
    double* best = &cores.front();
    for (double& core : cores) {
      const bool is_free = core <= begin;
      if (*best <= begin ? is_free && core > *best : core < *best) best = &core;
    }
    return *best = std::max(*best, begin) + seconds;
  }
};

uint64_t FrameBytes(const std::string& message) {
  std::string length;
  ByteWriter(&length).Varint(message.size());
  const uint64_t bytes = message.size() + length.size();
  return bytes + kEnvelopeBytes * (1 + bytes / join::kMostPieceBytes);
}

class Simulation {
 public:
  Simulation(join::Session* client, join::Session* server, const SessionSettings& settings,
             SessionOutcome* outcome)
      : link_(settings.link),
        act_done_(settings.act_done),
        least_times_(settings.least_times),
        plan_(settings.plan),
        outcome_(outcome) {
    ends_[0].session = client;
    ends_[1].session = server;
    for (End& end : ends_) end.cores.resize(static_cast<size_t>(settings.cores));
  }

  absl::Status Run() {
    for (;;) {
      const double first = ends_[0].NextAction(), second = ends_[1].NextAction();
      if (first < 0 && second < 0) break;
      const int at = second < 0 || (first >= 0 && first <= second) ? 0 : 1;
      const absl::Status status = Go(&ends_[at], &ends_[1 - at]);
      if (!status.ok()) return status;
    }
    outcome_->link_seconds = *std::max_element(ends_[0].cores.begin(), ends_[0].cores.end());
    outcome_->round_trips = ends_[0].hops / 2;
    return absl::OkStatus();
  }

 private:
  absl::Status Go(End* end, End* other) {
    const double begin = CpuClock::Seconds();
    if (!end->may_speak) {
      Sent& sent = end->inbox.front();
      end->hops = std::max(end->hops, sent.hops);
      const absl::Status status = end->session->Receive(sent.message);
      const double seconds = Tell(end, sent.message, {}, CpuClock::Seconds() - begin);
      end->said = end->Compute(sent.arrival, seconds);
      end->inbox.pop_front();
      end->may_speak = true;
      return status;
    }
    absl::StatusOr<std::string> message = end->session->Next();
    if (!message.ok()) return message.status();
    const double seconds = Tell(end, {}, *message, CpuClock::Seconds() - begin);
    // What waited to be said takes no time; what has to be read does.
    end->said = end->Compute(end->said, seconds);
    end->may_speak = !message->empty();
    if (message->empty()) return absl::OkStatus();
    const uint64_t bytes = FrameBytes(*message);
    outcome_->bytes += bytes;
    end->link_free =
        std::max(end->link_free, end->said) + link_.SecondsFor(static_cast<double>(bytes));
    other->inbox.push_back(
        {*std::move(message), end->link_free + link_.round_trip_seconds / 2, end->hops + 1});
    return absl::OkStatus();
  }

  // What the act counts for.
  double Tell(const End* end, std::string_view received, std::string_view sent, double seconds) {
    const bool is_client = end == &ends_[0];
    if (least_times_ != nullptr) {
      seconds = least_times_->Of(plan_, is_client, received, sent, seconds);
    }
    outcome_->cpu_seconds += seconds;
    if (act_done_) act_done_({is_client, received, sent, seconds});
    return seconds;
  }

  const Link link_;
  const std::function<void(const Act&)> act_done_;
  LeastTimes* const least_times_;
  const uint64_t plan_;
  SessionOutcome* const outcome_;
  End ends_[2];
};

Runs RunsOf(const std::vector<SessionOutcome>& outcomes) {
  std::vector<double> bytes, round_trips, cpu_seconds, link_seconds;
  for (const SessionOutcome& outcome : outcomes) {
    bytes.push_back(static_cast<double>(outcome.bytes));
    round_trips.push_back(outcome.round_trips);
    cpu_seconds.push_back(outcome.cpu_seconds);
    link_seconds.push_back(outcome.link_seconds);
  }
  return {MedianOf(bytes), MostOf(bytes), MedianOf(round_trips), MedianOf(cpu_seconds),
          MedianOf(link_seconds)};
}

}  // namespace

KeySets RandomKeySets(uint64_t client, uint64_t server, uint64_t common, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto fill = [&random](uint64_t count, Keys* keys) {
    keys->resize(count);
    for (Key& key : *keys) {
      for (size_t at = 0; at < key.bytes.size(); at += sizeof(uint64_t)) {
        const uint64_t word = random();
        std::memcpy(key.bytes.data() + at, &word, sizeof(word));
      }
    }
  };
  KeySets sets;
  fill(client, &sets.client);
  fill(server, &sets.server);
  std::copy_n(sets.client.begin(), common, sets.server.begin());
  std::sort(sets.client.begin(), sets.client.end());
  std::sort(sets.server.begin(), sets.server.end());
  return sets;
}

Keys KeySets::Common() const {
  Keys common;
  std::set_intersection(client.begin(), client.end(), server.begin(), server.end(),
                        std::back_inserter(common));
  return common;
}

std::unique_ptr<join::Source> SourceOf(const Keys* keys) {
  return std::make_unique<KeySource>(keys);
}

uint64_t ShippedBytes(const Keys& keys) {
  join::KeyListWriter writer;
  for (const Key& key : keys) writer.Add(key.view());
  std::string bytes;
  writer.Finish(&bytes);
  return bytes.size();
}

uint64_t BloomJoinBytes(const KeySets& sets) {
  const bool client_is_smaller = sets.client.size() <= sets.server.size();
  const TextbookBloom filter(client_is_smaller ? sets.client : sets.server);
  Keys passed;
  for (const Key& key : client_is_smaller ? sets.server : sets.client) {
    if (filter.MayContain(key)) passed.push_back(key);
  }
  return filter.bytes() + ShippedBytes(passed);
}

SessionOutcome RunSession(const KeySets& sets, const Keys& common,
                          const SessionSettings& settings) {
  SessionOutcome outcome;
  join::PlannerOptions planner;
  if (settings.most_round_trips) planner.most_round_trips = *settings.most_round_trips;
  planner.strategy = settings.strategy;
  if (settings.bits_per_cpu_ns) planner.weights = join::WeightsForPrice(*settings.bits_per_cpu_ns);
  join::ClientSessionOptions client_options;
  client_options.operation = settings.operation;
  client_options.salt = settings.seed * 0x9e3779b97f4a7c15;
  client_options.keys_per_range = settings.keys_per_range;
  client_options.ranges_ahead = settings.ranges_ahead;
  client_options.planner = planner;
  join::ServerSessionOptions server_options;
  server_options.most_keys_per_range =
      std::max(server_options.most_keys_per_range, 2 * settings.keys_per_range);
  server_options.planner = planner;
  KeySource here(&sets.client), there(&sets.server);
  const bool counts = settings.operation == join::Operation::kCount;
  UnmatchedKeys unmatched(counts ? Keys() : sets.client, counts ? Keys() : common);
  join::ClientSession client(&here, &unmatched, client_options);
  join::ServerSession server(&there, server_options);
  const absl::Status status = Simulation(&client, &server, settings, &outcome).Run();
  outcome.statistics = client.statistics();
  if (!status.ok()) {
    outcome.error = status.ToString();
  } else if (!client.done() || outcome.statistics.matched_keys != common.size() ||
             (settings.operation != join::Operation::kCount && !unmatched.IsRight())) {
    outcome.error = "the result is not that of std::set_intersection";
  }
  return outcome;
}

double LeastTimes::Of(uint64_t plan, bool is_client, std::string_view received,
                      std::string_view sent, double seconds) {
  const uint64_t said =
      HashKey128(received, plan + (is_client ? 1 : 0)).low ^ HashKey128(sent, plan).high;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double* const halves = times_.emplace(said, Halves{kNever, kNever}).first->second.seconds;
  halves[half_] = std::min(halves[half_], seconds);
  return alone_ ? halves[half_] : std::min(halves[0], halves[1]);
}

Circumstances Alike(uint64_t keys, double common_percent) {
  Circumstances circumstances;
  circumstances.client = circumstances.server = keys;
  circumstances.common =
      static_cast<uint64_t>(std::llround(common_percent / 100 * static_cast<double>(keys)));
  return circumstances;
}

Runs MeasureRuns(const Circumstances& circumstances, FigureRun* run) {
  return MeasureByTurns(circumstances, {circumstances.session}, run).front();
}

std::vector<Runs> MeasureByTurns(const Circumstances& circumstances,
                                 const std::vector<SessionSettings>& ways, FigureRun* run) {
  std::vector<std::vector<SessionOutcome>> outcomes(ways.size());
  const std::string name = Thousands(circumstances.client) + " x " +
                           Thousands(circumstances.server) + " keys, " +
                           Thousands(circumstances.common) + " common, seed ";
  for (uint64_t i = 0; i < run->settings.seeds; i++) {
    const uint64_t seed = i + 1;
    const KeySets sets =
        RandomKeySets(circumstances.client, circumstances.server, circumstances.common, seed);
    const Keys common = sets.Common();
    for (size_t way = 0; way < ways.size(); way++) {
      run->Begin(name + std::to_string(seed));
      SessionSettings settings = ways[way];
      settings.seed = seed;
      outcomes[way].push_back(RunSession(sets, common, settings));
      const std::string& error = outcomes[way].back().error;
      if (!error.empty()) run->Fail(name + std::to_string(seed) + ": " + error);
    }
  }
  std::vector<Runs> runs;
  for (const std::vector<SessionOutcome>& of_way : outcomes) runs.push_back(RunsOf(of_way));
  return runs;
}

}  // namespace rocksieve::bench
