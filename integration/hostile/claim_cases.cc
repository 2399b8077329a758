// SPDX-License-Identifier: Apache-2.0
// Servers that claim more than they have, and send rows of which they said nothing.
#include <memory>

#include "integration/hostile/liar.h"
#include "lib/join/existing/existing_filters.h"
#include "tests/join/hostile_bodies.h"

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
Say StepsOf(Part part, const std::string& body) {
  return Only<Step>(
      [part, body](const Step& step) { return Bytes{Encode(StepWith(step.range, part, body))}; });
}

void EmptyCellBitmap(const Victim& victim, uint64_t keys) {
  Lie(victim, {Either(ClientBegins(), StepsOf(Part::kEmptyCellBitmap, EmptyCellBitmapOfMany(keys))),
               {},
               {}});
}

void Sketch(const Victim& victim, uint64_t keys) {
  Lie(victim, {Either(ServerBegins(), StepsOf(Part::kSketch, SketchOfMany(keys))), {}, {}});
}

// As many as the client asks for, in messages of 2 MB.
void Symbols(const Victim& victim) {
  constexpr uint64_t kCount = 300'000;
  auto begin = std::make_shared<uint64_t>(0);
  const auto more = [begin](const Step& step) -> std::optional<Bytes> {
    const std::string body = RandomSymbols(kMostKeys, *begin, kCount);
    *begin += kCount;
    return Bytes{Encode(StepWith(step.range, Part::kSymbols, body))};
  };
  Lie(victim, {Either(ServerBegins(), Either(EachRangeHas(kMostKeys), Only<Step>(more))),
               Only<Step>(more),
               {}});
}

void RequestForSymbols(const Victim& victim) {
  auto request = std::make_shared<uint64_t>(64);
  const auto more = [request](const Step& step) -> std::optional<Bytes> {
    *request *= 4;
    return Bytes{Encode(StepWith(step.range, Part::kMoreSymbols, Number(*request)))};
  };
  Lie(victim, {Either(ClientBegins(), EachRangeHas(kMostKeys)), Only<Step>(more), {}});
}

void OneStep(const Victim& victim, Part part, const std::string& body) {
  Lie(victim,
      {Either(ServerBegins(), Either(EachRangeHas(kMostKeys), StepsOf(part, body))), {}, {}});
}

// The client begins with what it makes for as many keys.
void MostKeys(const Victim& victim) {
  Lie(victim, {Either(ClientBegins(), EachRangeHas(kMostKeys)), {}, {}});
}

void LargestAnswer(const Victim& victim) {
  Lie(victim, {Changing<HelloAnswer>([](HelloAnswer* answer) {
                 answer->keys = answer->most_keys_per_range = UINT64_MAX;
                 answer->accepted_filter_bytes = UINT64_MAX;
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

void FiltersForever(const Victim& victim, const ExistingFilter& filter) {
  Filters filters;
  while (filters.piece.size() < 100'000) AppendExistingFilter(filter, &filters.piece);
  auto said = std::make_shared<bool>(false);
  Lie(victim, {Changing<HelloAnswer>([said](HelloAnswer* answer) {
                 answer->existing_choice = ExistingFilterChoice::kServer;
                 *said = true;
               }),
               {},
               [said, bytes = Encode(filters)] { return *said ? bytes : std::string(); }});
}

// A row of the key before it.
std::string AnotherRow(size_t value_bytes) {
  std::string raw;
  ByteWriter out(&raw);
  out.Varint(2 * uint64_t{value_bytes});
  out.Bytes(std::string(value_bytes, 0));
  return raw;
}

// After the first rows of the honest server, `batches` without end.
void RowsForever(const Victim& victim, const std::vector<std::string>& batches) {
  auto first = std::make_shared<std::optional<Rows>>();
  auto next = std::make_shared<size_t>(0);
  const auto begin = [first](const Rows& rows) -> std::optional<Bytes> {
    if (*first) return Bytes();
    *first = rows;
    (*first)->last = false;
    return Bytes{Encode(**first)};
  };
  std::vector<std::string> batch = batches;
  const auto forever = [first, next, batch]() -> std::string {
    if (!*first) return "";
    Rows rows = **first;
    rows.batch = batch[std::min((*next)++, batch.size() - 1)];
    return Encode(rows);
  };
  Lie(victim, {Only<Rows>(begin), {}, forever});
}

// Many small rows that hardly take a byte each.
void SmallRows(const Victim& victim) { RowsForever(victim, {BatchOf(std::string(128 << 10, 0))}); }

void RowsOfOneKey(const Victim& victim) {
  std::string raw;
  while (raw.size() < 120'000) raw += AnotherRow(1000);
  RowsForever(victim, {BatchOf(raw)});
}

void RowsOfNothing(const Victim& victim) { RowsForever(victim, {BatchOf("")}); }

// One that begins, and goes on in each batch.
void RowOf(const Victim& victim, uint64_t bytes) {
  std::string head;
  ByteWriter(&head).Varint(2 * bytes);
  RowsForever(victim, {BatchOf(head), BatchOf(std::string(128 << 10, 'r'))});
}

void RowsThatUnpackToMuch(const Victim& victim) {
  RowsForever(victim, {BatchOf(std::string(300 << 20, 0))});
}

// Rising keys, far more than were announced.
void NewKeys(const Victim& victim) {
  auto number = std::make_shared<uint64_t>(0);
  auto first = std::make_shared<std::optional<Rows>>();
  Lie(victim, {Only<Rows>([first](const Rows& rows) -> std::optional<Bytes> {
                 if (*first) return Bytes();
                 *first = rows;
                 return Bytes{};
               }),
               {},
               [first, number]() -> std::string {
                 if (!*first) return "";
                 std::string raw;
                 ByteWriter out(&raw);
                 while (raw.size() < 100'000) {
                   out.Varint(2 * 200 + 1);
                   out.Varint(0);
                   std::string key(8, 0);
                   for (int i = 0; i < 8; i++) {
                     key[7 - static_cast<size_t>(i)] = static_cast<char>(*number >> (8 * i));
                   }
                   (*number)++;
                   out.String("0" + key);
                   out.Bytes(std::string(200, 'v'));
                 }
                 Rows rows = **first;
                 rows.last = false;
                 rows.batch = BatchOf(raw);
                 return Encode(rows);
               }});
}

// One row more than the database can have, of a key that is there.
void TwoRowsOfOneKey(const Victim& victim) {
  Lie(victim, {Only<Rows>([](const Rows& rows) -> std::optional<Bytes> {
                 Rows first = rows, second = rows;
                 first.last = false;
                 second.batch = BatchOf(AnotherRow(6));
                 return Bytes{Encode(first), Encode(second)};
               }),
               {},
               {}});
}

// Rows with a NULL key, though whole keys are joined.
void AbsentRows(const Victim& victim) {
  auto asked = std::make_shared<bool>(false);
  Rows rows;
  rows.range = kAbsentRange;
  std::string raw;
  while (raw.size() < 120'000) raw += AnotherRow(100);
  raw[0] = static_cast<char>(raw[0] | 1);  // the first one is of a new key
  rows.batch = BatchOf(raw);
  Lie(victim, {Changing<HelloAnswer>([](HelloAnswer* answer) {
                 answer->absent = {uint64_t{1} << 40, 1, 1};
               }),
               Only<Fetch>([asked](const Fetch& fetch) -> std::optional<Bytes> {
                 if (fetch.range != kAbsentRange) return std::nullopt;
                 *asked = true;
                 return Bytes();
               }),
               [asked, bytes = Encode(rows)] { return *asked ? bytes : std::string(); }});
}

void UnaskedRows(const Victim& victim) {
  auto said = std::make_shared<bool>(false);
  Lie(victim, {Only<HelloAnswer>([said](const HelloAnswer&) -> std::optional<Bytes> {
                 *said = true;
                 return std::nullopt;
               }),
               {},
               [said] {
                 return *said ? Encode(Rows{0, 0, false, BatchOf("\x01\0\1k")}) : "";
               }});
}

}  // namespace

void AddClaimCases(std::vector<ServerCase>* cases) {
  for (const uint64_t keys : {uint64_t{30'000}, uint64_t{100'000}, uint64_t{400'000},
                              uint64_t{1'500'000}, uint64_t{UINT32_MAX}}) {
    const std::string of = "-of-" + std::to_string(keys);
    cases->push_back(
        {"bitmap" + of, [keys](const Victim& victim) { EmptyCellBitmap(victim, keys); }});
    cases->push_back({"sketch" + of, [keys](const Victim& victim) { Sketch(victim, keys); }});
  }
  cases->push_back({"symbols-of-many", Symbols});
  cases->push_back({"requests-for-symbols", RequestForSymbols});
  cases->push_back({"list-of-60MB", [](const Victim& victim) {
                      OneStep(victim, Part::kList, ListOfZeros(60'000'000));
                    }});
  cases->push_back({"keys-bomb", [](const Victim& victim) {
                      OneStep(victim, Part::kKeys, KeysThatUnpackTo(200 << 20));
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

void AddRowCases(std::vector<ServerCase>* cases) {
  cases->push_back({"small-rows-forever", SmallRows});
  cases->push_back({"rows-of-one-key-forever", RowsOfOneKey});
  cases->push_back({"rows-of-nothing-forever", RowsOfNothing});
  cases->push_back({"row-of-200MB", [](const Victim& victim) { RowOf(victim, 200 << 20); }});
  cases->push_back(
      {"row-of-a-terabyte", [](const Victim& victim) { RowOf(victim, uint64_t{1} << 40); }});
  cases->push_back({"rows-that-unpack-to-much", RowsThatUnpackToMuch});
  cases->push_back({"new-keys-forever", NewKeys});
  cases->push_back({"two-rows-of-one-key", TwoRowsOfOneKey});
  cases->push_back({"absent-rows-forever", AbsentRows});
  cases->push_back({"unasked-rows", UnaskedRows});
}

}  // namespace rocksieve::join
