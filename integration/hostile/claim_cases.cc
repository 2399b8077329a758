// Servers that claim more than they have.
#include <memory>

#include "integration/hostile/bodies.h"
#include "integration/hostile/server_cases.h"
#include "lib/join/ready/ready_filter_stream.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostKeys = kMostKeysOfARange;  // that a range may be said to have
using Say = std::function<std::optional<Bytes>(const Message&)>;

// Which side begins depends on how many keys the server says that it has.
Say HasKeys(uint64_t keys) {
  return Changing<HelloAnswer>([keys](HelloAnswer* answer) { answer->keys = keys; });
}
Say ClientBegins() { return HasKeys(10'000'000); }
Say ServerBegins() { return HasKeys(1000); }

Say EachRangeHas(uint64_t keys) {
  return Changing<Facts>([keys](Facts* facts) { facts->sum.count = keys; });
}

// In place of each of the honest server's.
Say TurnsOf(Part part, const std::string& body) {
  return Only<Turn>(
      [part, body](const Turn& turn) { return Bytes{Encode(TurnWith(turn.range, part, body))}; });
}

void Marks(const Victim& victim, uint64_t keys) {
  Lie(victim, {Either(ClientBegins(), TurnsOf(Part::kMarks, MarksOfMany(keys))), {}, {}});
}

void Sketch(const Victim& victim, uint64_t keys) {
  Lie(victim, {Either(ServerBegins(), TurnsOf(Part::kSketch, SketchOfMany(keys))), {}, {}});
}

// As many as the client asks for, in messages of 2 MB.
void Symbols(const Victim& victim) {
  constexpr uint64_t kCount = 300'000;
  auto begin = std::make_shared<uint64_t>(0);
  const auto more = [begin](const Turn& turn) -> std::optional<Bytes> {
    const std::string body = RandomSymbols(kMostKeys, *begin, kCount);
    *begin += kCount;
    return Bytes{Encode(TurnWith(turn.range, Part::kSymbols, body))};
  };
  Lie(victim, {Either(ServerBegins(), Either(EachRangeHas(kMostKeys), Only<Turn>(more))),
               Only<Turn>(more),
               {}});
}

void WishForSymbols(const Victim& victim) {
  auto wish = std::make_shared<uint64_t>(64);
  const auto more = [wish](const Turn& turn) -> std::optional<Bytes> {
    *wish *= 4;
    return Bytes{Encode(TurnWith(turn.range, Part::kMoreSymbols, Number(*wish)))};
  };
  Lie(victim, {Either(ClientBegins(), EachRangeHas(kMostKeys)), Only<Turn>(more), {}});
}

void OneTurn(const Victim& victim, Part part, const std::string& body) {
  Lie(victim,
      {Either(ServerBegins(), Either(EachRangeHas(kMostKeys), TurnsOf(part, body))), {}, {}});
}

// The client begins with what it makes for as many keys.
void MostKeys(const Victim& victim) {
  Lie(victim, {Either(ClientBegins(), EachRangeHas(kMostKeys)), {}, {}});
}

void LargestAnswer(const Victim& victim) {
  Lie(victim, {Changing<HelloAnswer>([](HelloAnswer* answer) {
                 answer->keys = answer->most_keys_per_range = UINT64_MAX;
                 answer->accepted_ready_bytes = UINT64_MAX;
                 answer->absent = {UINT64_MAX, 1, 1};
               }),
               {},
               {}});
}

void LargestFacts(const Victim& victim) {
  Lie(victim, {Changing<Facts>([](Facts* facts) {
                 facts->common = UINT64_MAX;
                 facts->sum.count = kMostKeys;
               }),
               {},
               {}});
}

void NoKeysInARange(const Victim& victim) {
  Lie(victim, {Changing<HelloAnswer>([](HelloAnswer* answer) { answer->most_keys_per_range = 0; }),
               {},
               {}});
}

// Each range is too large, up to a key of 4 MiB that lies just below the one before.
void FallingKeys(const Victim& victim) {
  auto key = std::make_shared<std::string>(4 << 20, '\x7f');
  const auto too_large = [key](const Open& open) -> std::optional<Bytes> {
    Facts facts;
    facts.range = open.range;
    facts.attempt = open.attempt;
    facts.outcome = Facts::Outcome::kTooLarge;
    facts.sum.count = 1;
    for (size_t i = key->size() - 1; i > 0 && --(*key)[i] == 0; i--) (*key)[i] = '\x7f';
    facts.next_key = *key;
    return Bytes{Encode(facts)};
  };
  Lie(victim, {{}, Only<Open>(too_large), {}});
}

void FiltersForever(const Victim& victim, const ReadyFilter& filter) {
  Filters filters;
  while (filters.piece.size() < 100'000) AppendReadyFilter(filter, &filters.piece);
  auto said = std::make_shared<bool>(false);
  Lie(victim, {Changing<HelloAnswer>([said](HelloAnswer* answer) {
                 answer->ready_choice = ReadyChoice::kAnswering;
                 *said = true;
               }),
               {},
               [said, bytes = Encode(filters)] { return *said ? bytes : std::string(); }});
}

}  // namespace

void AddClaimCases(std::vector<ServerCase>* cases) {
  for (const uint64_t keys : {uint64_t{30'000}, uint64_t{100'000}, uint64_t{400'000},
                              uint64_t{1'500'000}, uint64_t{UINT32_MAX}}) {
    const std::string of = "-of-" + std::to_string(keys);
    cases->push_back({"marks" + of, [keys](const Victim& victim) { Marks(victim, keys); }});
    cases->push_back({"sketch" + of, [keys](const Victim& victim) { Sketch(victim, keys); }});
  }
  cases->push_back({"symbols-of-many", Symbols});
  cases->push_back({"wishes-for-symbols", WishForSymbols});
  cases->push_back({"list-of-60MB", [](const Victim& victim) {
                      OneTurn(victim, Part::kList, ListOfZeros(60'000'000));
                    }});
  cases->push_back({"keys-bomb", [](const Victim& victim) {
                      OneTurn(victim, Part::kKeys, KeysThatUnpackTo(200 << 20));
                    }});
  cases->push_back({"most-keys", MostKeys});
  cases->push_back({"largest-answer", LargestAnswer});
  cases->push_back({"largest-facts", LargestFacts});
  cases->push_back({"no-keys-in-a-range", NoKeysInARange});
  cases->push_back({"falling-keys", FallingKeys});
  cases->push_back({"small-filters-forever", [](const Victim& victim) {
                      FiltersForever(victim, {"", "\xff", FilterFormat::kNone, ""});
                    }});
  cases->push_back({"builtin-filters-forever", [](const Victim& victim) {
                      const std::string block("\0\0\0\0\xff\0\0\0", 8);
                      FiltersForever(victim, {"", "\xff", FilterFormat::kRocksDbBuiltin, block});
                    }});
  cases->push_back({"filters-of-huge-fences", [](const Victim& victim) {
                      const std::string low(1 << 20, 'a'), high(1 << 20, 'b');
                      FiltersForever(victim, {low, high, FilterFormat::kNone, ""});
                    }});
}

}  // namespace rocksieve::join
