// Sessions of an honest client, whose messages are changed at random on their way.
#include <chrono>
#include <iostream>
#include <random>
#include <string>

#include "integration/hostile/call.h"
#include "integration/hostile/client_cases.h"
#include "integration/hostile/mutation.h"
#include "lib/join/rows/memory_source.h"
#include "lib/join/session/asking_side.h"
#include "tests/join/counting_sink.h"

namespace rocksieve::join {
namespace {

constexpr double kSessionSeconds = 0.3;
constexpr Operation kOperations[] = {Operation::kIntersection, Operation::kDifference,
                                     Operation::kLocalOnly, Operation::kSymmetric,
                                     Operation::kCount};

MemorySource::Rows RandomRows(size_t count, std::mt19937_64* random) {
  MemorySource::Rows rows;
  for (size_t i = 0; i < count; i++) {
    const std::string digits = std::to_string((*random)() % 1'000'000'000'000);
    rows.push_back({std::string(12 - digits.size(), '0') + digits, "value"});
  }
  return rows;
}

void PlayOne(const Target& target, uint64_t seed) {
  std::mt19937_64 random(seed);
  MemorySource source(RandomRows(1 + random() % 3000, &random));
  CountingSink sink;
  AskingOptions options;
  options.operation = kOperations[random() % std::size(kOperations)];
  options.salt = seed;
  options.keys_per_range = 1 + random() % 2000;
  options.planner.strategy = static_cast<Strategy>(random() % 10);
  const auto rarity = static_cast<uint32_t>(2 + random() % 30);
  AskingSide asks(&source, &sink, options);
  Mutator mutator(seed);
  Call call(target.address, kSessionSeconds);
  if (!call.Greet()) return;
  for (bool goes_on = true; goes_on;) {
    absl::StatusOr<std::string> message = asks.Next();
    while (message.ok() && !message->empty()) {
      for (const std::string& bytes : mutator.Mutated(*message, rarity)) call.SayBytes(bytes);
      message = asks.Next();
    }
    goes_on = call.Flush() && message.ok() && !asks.done();
    if (!goes_on) break;
    const std::optional<Message> heard = call.Hear();
    goes_on = heard && asks.Receive(Encode(*heard)).ok();
  }
  call.End();
}

void PlayMany(const Target& target) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<int64_t>(1000 * target.seconds));
  for (uint64_t seed = target.seed; std::chrono::steady_clock::now() < end; seed++) {
    std::cout << "seed " << seed << ": " << std::flush;
    PlayOne(target, seed);
  }
}

}  // namespace

void AddMutatedCases(std::vector<Case>* cases) { cases->push_back({"mutated", PlayMany}); }

}  // namespace rocksieve::join
