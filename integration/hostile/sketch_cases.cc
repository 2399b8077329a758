// SPDX-License-Identifier: Apache-2.0
// Steps that claim more than they hold; what a side may claim about filters of SST files that it
// received, or sends.
#include <algorithm>
#include <string>

#include "integration/hostile/call.h"
#include "lib/join/existing/existing_filters.h"
#include "lib/join/memory_account.h"
#include "tests/join/hostile_bodies.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kSketchRange = 1;
constexpr uint64_t kSketchKeys = 1000;
constexpr uint64_t kMostKeys = kMostKeysOfARange;  // that a range may be said to have

// One range, in which the client says that it has `keys`, and a step.
void SayOneStep(const Target& target, Strategy strategy, uint64_t keys, bool server_begins,
                Part part, const std::string& body) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(strategy));
  call.Say(OpenSome(kSketchRange, keys, server_begins));
  call.Say(StepWith(kSketchRange, part, body));
  call.End();
}

void EmptyCellBitmap(const Target& target, uint64_t keys) {
  SayOneStep(target, Strategy::kSketch, kSketchKeys, true, Part::kEmptyCellBitmap,
             EmptyCellBitmapOfMany(keys));
}

void Sketch(const Target& target, uint64_t keys) {
  SayOneStep(target, Strategy::kSketch, kSketchKeys, false, Part::kSketch, SketchOfMany(keys));
}

// The tables of each field, which a process makes at its first use, and keeps.
void SketchesOfAllFields(const Target& target) {
  for (int bits = 6; bits <= 20; bits++) {
    SayOneStep(target, Strategy::kSketch, kSketchKeys, false, Part::kSketch,
               SketchOfMany(kSketchKeys, bits));
  }
}

// As many sessions as the server has places for, and one more.
void EmptyCellBitmapsInNineSessions(const Target& target) {
  for (int i = 0; i < 9; i++) EmptyCellBitmap(target, UINT32_MAX);
}

// In messages of `bytes`, as often as the server asks for more.
void Symbols(const Target& target, uint64_t message_bytes) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kSymbols));
  call.Say(OpenSome(kSketchRange, kMostKeys, /*server_begins=*/false));
  constexpr uint64_t kCellBytes = 6;
  const uint64_t count = std::min(4 * kMostKeys, message_bytes / kCellBytes);
  for (uint64_t begin = 0; begin < 8 * kMostKeys; begin += count) {
    call.Say(StepWith(kSketchRange, Part::kSymbols, RandomSymbols(kMostKeys, begin, count)));
    if (!call.Flush() || !call.HearA<Step>()) break;
  }
  call.End();
}

// The server begins: a request for four times as many symbols as there are, again and again.
void RequestForSymbols(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kSymbols));
  call.Say(OpenSome(kSketchRange, kMostKeys, /*server_begins=*/true));
  for (uint64_t request = 64; call.Flush() && call.HearA<Step>(); request *= 4) {
    call.Say(StepWith(kSketchRange, Part::kMoreSymbols, Number(request)));
  }
  call.End();
}

// The same for the parity of a sketch: as much of each level as there are groups.
void RequestForParity(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kSketch));
  call.Say(OpenSome(kSketchRange, kMostKeys, /*server_begins=*/true));
  std::string request;
  ByteWriter out(&request);
  out.Varint(96);
  for (uint64_t level = 1; level <= 96; level++) {
    out.Varint(level);
    out.Varint(1);
  }
  while (call.Flush() && call.HearA<Step>()) {
    call.Say(StepWith(kSketchRange, Part::kMoreParity, request));
  }
  call.End();
}

// The server begins with what it makes for as many keys as may be claimed, in six ranges at once.
void ClaimMostKeys(const Target& target, Strategy strategy) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(strategy));
  for (uint64_t range = 0; range < 6; range++) {
    call.Say(OpenSome(range, kMostKeys, /*server_begins=*/true));
  }
  call.End();
}

void List(const Target& target, size_t bytes) {
  SayOneStep(target, Strategy::kList, kMostKeys, false, Part::kList, ListOfZeros(bytes));
}

void KeysBomb(const Target& target, uint64_t keys) {
  SayOneStep(target, Strategy::kKeys, keys, false, Part::kKeys, KeysThatUnpackTo(200 << 20));
}

// One key of a list that would be very long.
void LongKey(const Target& target) {
  std::string raw, body;
  ByteWriter out(&raw);
  out.Varint(0);
  out.String(std::string(100 << 20, 'k'));
  SayOneStep(target, Strategy::kKeys, kMostKeys, false, Part::kKeys, BatchOf(raw));
}

// A filter that says it is of so many keys, and whose block is damaged; flags without end.
void OddParts(const Target& target) {
  std::string body = Number(UINT32_MAX) + std::string("\x8aRK\1\0\2\3", 7) + std::string(1000, 0);
  SayOneStep(target, Strategy::kRibbon, kMostKeys, false, Part::kFilter, body);
  SayOneStep(target, Strategy::kList, kMostKeys, true, Part::kMatchBitmap, Number(UINT64_MAX));
  SayOneStep(target, Strategy::kSymbols, kMostKeys, true, Part::kDifference, Number(UINT64_MAX));
  SayOneStep(target, Strategy::kSketch, kMostKeys, true, Part::kMoreParity, Number(UINT64_MAX));
  SayOneStep(target, Strategy::kAuto, kMostKeys, false, Part::kDeferredKeys, ListOfZeros(100));
}

void Estimators(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kAuto));
  for (uint64_t range = 0; range < 6; range++) {
    Open open = OpenSome(range, kMostKeys, /*server_begins=*/true);
    ByteWriter out(&open.estimator);
    out.Varint(65536);
    out.U8(32);
    out.Bytes(std::string(65536 * 4, '\x7f'));
    call.Say(open);
  }
  call.End();
}

constexpr uint8_t kAllFormats = 7;
constexpr uint64_t kRange = 1;

Hello TakesFilters() {
  Hello hello = HelloFor(Strategy::kSstFilters);
  hello.accepted_filter_bytes = uint64_t{1} << 40;
  hello.readable_formats = kAllFormats;
  return hello;
}

// Says hello, and takes all filters of the server into `set`. False if it sends none.
bool TakeFilters(Call* call, ExistingFilterSet* set) {
  call->Say(TakesFilters());
  if (!call->Flush()) return false;
  MemoryHold memory(nullptr);
  ExistingFilterAssembler assembler(set, uint64_t{1} << 30, &memory);
  while (std::optional<Filters> filters = call->HearA<Filters>()) {
    if (!assembler.Add(filters->piece).ok() || filters->state == Filters::State::kWithdrawn) break;
    if (filters->state == Filters::State::kLast) return set->Complete(), true;
  }
  return false;
}

// So many candidates are said to be left of ten keys, and a list is sent of them.
void ListOfMoreThanThereAre(const Target& target, uint64_t candidates, size_t bytes) {
  Call call(target.address, target.seconds);
  ExistingFilterSet set;
  if (!call.Greet() || !TakeFilters(&call, &set)) return call.End();
  Open open = OpenSome(kRange, 10, /*server_begins=*/false);
  open.pruning = {set.size(), set.DigestOf(set.size()), candidates};
  call.Say(open);
  call.Say(StepWith(kRange, Part::kList, ListOfZeros(bytes)));
  call.End();
}

void OpenManyWithFilters(const Target& target) {
  Call call(target.address, target.seconds);
  ExistingFilterSet set;
  if (!call.Greet() || !TakeFilters(&call, &set)) return call.End();
  for (uint64_t range = 0; range < 300; range++) {
    Open open = OpenSome(range % 2, uint64_t{1} << 21, /*server_begins=*/true);
    open.pruning = {set.size(), set.DigestOf(set.size()), uint64_t{1} << 21};
    call.Say(open);
  }
  call.End();
}

Hello SendsFilters(uint64_t bytes) {
  Hello hello = TakesFilters();
  hello.keys = 10;
  hello.existing = {bytes, 0.01, kAllFormats};
  return hello;
}

// Pieces of filters without end, as `filter(i)` makes them.
template <typename Make>
void SendFiltersForever(const Target& target, Make filter) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(SendsFilters(1));
  for (uint64_t i = 0; call.Flush(); i++) {
    Filters filters;
    while (filters.piece.size() < 100'000) filters.piece += filter(i++);
    call.Say(filters);
  }
  call.End();
}

// One that would be a terabyte.
void SendOneFilterForever(const Target& target) {
  std::string head;
  ByteWriter(&head).Varint(uint64_t{1} << 40);
  SendFiltersForever(target,
                     [&head](uint64_t i) { return i == 0 ? head : std::string(1000, 'f'); });
}

std::string FilterOf(const std::string& smallest, const std::string& largest,
                     const std::string& block, FilterFormat format) {
  std::string bytes;
  AppendExistingFilter({smallest, largest, format, block}, &bytes);
  return bytes;
}

// Many of hardly any bytes, which take far more in memory; all within each other's fences.
void SendSmallFiltersForever(const Target& target) {
  SendFiltersForever(target,
                     [](uint64_t) { return FilterOf("", "\xff", "", FilterFormat::kNone); });
}

void SendBuiltinFiltersForever(const Target& target) {
  SendFiltersForever(target, [](uint64_t) {
    return FilterOf("", "\xff", std::string("\0\0\0\0\xff\0\0\0", 8),
                    FilterFormat::kRocksDbBuiltin);
  });
}

void SendFiltersOfHugeFences(const Target& target) {
  const std::string filter =
      FilterOf(std::string(1 << 20, 'a'), std::string(1 << 20, 'b'), "", FilterFormat::kNone);
  SendFiltersForever(target, [&filter](uint64_t) { return filter; });
}

}  // namespace

void AddSketchCases(std::vector<Case>* cases) {
  for (const uint64_t keys : {uint64_t{30'000}, uint64_t{100'000}, uint64_t{400'000},
                              uint64_t{1'500'000}, uint64_t{UINT32_MAX}}) {
    const std::string of = "-of-" + std::to_string(keys);
    cases->push_back(
        {"bitmap" + of, [keys](const Target& target) { EmptyCellBitmap(target, keys); }});
    cases->push_back({"sketch" + of, [keys](const Target& target) { Sketch(target, keys); }});
  }
  cases->push_back({"sketches-of-all-fields", SketchesOfAllFields});
  cases->push_back({"bitmaps-in-nine-sessions", EmptyCellBitmapsInNineSessions});
  cases->push_back({"symbols-in-2MB", [](const Target& target) { Symbols(target, 1'900'000); }});
  cases->push_back({"symbols-in-60MB", [](const Target& target) { Symbols(target, 60'000'000); }});
  cases->push_back({"requests-for-symbols", RequestForSymbols});
  cases->push_back({"requests-for-parity", RequestForParity});
  for (const Strategy strategy : kAllStrategies) {
    cases->push_back({"most-keys-" + std::string(NameOf(strategy)),
                      [strategy](const Target& target) { ClaimMostKeys(target, strategy); }});
  }
  cases->push_back({"list-of-2MB", [](const Target& target) { List(target, 1'900'000); }});
  cases->push_back({"keys-bomb", [](const Target& target) { KeysBomb(target, kMostKeys); }});
  cases->push_back({"long-key", LongKey});
  cases->push_back({"odd-parts", OddParts});
  cases->push_back({"estimators", Estimators});
}

void AddFilterCases(std::vector<Case>* cases) {
  for (const size_t megabytes : {2, 15, 63}) {
    cases->push_back({"pruned-to-more-list-of-" + std::to_string(megabytes) + "MB",
                      [megabytes](const Target& target) {
                        ListOfMoreThanThereAre(target, UINT32_MAX, megabytes * 1'000'000);
                      }});
  }
  cases->push_back({"pruned-ranges-opened-often", OpenManyWithFilters});
  cases->push_back({"filter-of-a-terabyte", SendOneFilterForever});
  cases->push_back({"small-filters-forever", SendSmallFiltersForever});
  cases->push_back({"builtin-filters-forever", SendBuiltinFiltersForever});
  cases->push_back({"filters-of-huge-fences", SendFiltersOfHugeFences});
}

}  // namespace rocksieve::join
