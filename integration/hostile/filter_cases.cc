// Filters of SST files: what a side may claim about those that it received, or sends.
#include <string>

#include "integration/hostile/bodies.h"
#include "integration/hostile/call.h"
#include "integration/hostile/client_cases.h"
#include "lib/join/memory_account.h"
#include "lib/join/ready/ready_filter_set.h"
#include "lib/join/ready/ready_filter_stream.h"

namespace rocksieve::join {
namespace {

constexpr uint8_t kAllFormats = 7;
constexpr uint64_t kRange = 1;

Hello TakesFilters() {
  Hello hello = HelloFor(Strategy::kSstFilters);
  hello.accepted_ready_bytes = uint64_t{1} << 40;
  hello.readable_formats = kAllFormats;
  return hello;
}

// Says hello, and takes all filters of the server into `set`. False if it sends none.
bool TakeFilters(Call* call, ReadyFilterSet* set) {
  call->Say(TakesFilters());
  if (!call->Flush()) return false;
  MemoryHold memory(nullptr);
  ReadyFilterAssembler assembler(set, uint64_t{1} << 30, &memory);
  while (std::optional<Filters> filters = call->HearA<Filters>()) {
    if (!assembler.Add(filters->piece).ok() || filters->state == Filters::State::kWithdrawn) break;
    if (filters->state == Filters::State::kLast) return set->Complete(), true;
  }
  return false;
}

// So many candidates are said to be left of ten keys, and a list is sent of them.
void ListOfMoreThanThereAre(const Target& target, uint64_t candidates, size_t bytes) {
  Call call(target.address, target.seconds);
  ReadyFilterSet set;
  if (!call.Greet() || !TakeFilters(&call, &set)) return call.End();
  Open open = OpenSome(kRange, 10, /*answering_side_begins=*/false);
  open.pruning = {set.size(), set.DigestOf(set.size()), candidates};
  call.Say(open);
  call.Say(TurnWith(kRange, Part::kList, ListOfZeros(bytes)));
  call.End();
}

void OpenManyWithFilters(const Target& target) {
  Call call(target.address, target.seconds);
  ReadyFilterSet set;
  if (!call.Greet() || !TakeFilters(&call, &set)) return call.End();
  for (uint64_t range = 0; range < 300; range++) {
    Open open = OpenSome(range % 2, uint64_t{1} << 21, /*answering_side_begins=*/true);
    open.pruning = {set.size(), set.DigestOf(set.size()), uint64_t{1} << 21};
    call.Say(open);
  }
  call.End();
}

Hello SendsFilters(uint64_t bytes) {
  Hello hello = TakesFilters();
  hello.keys = 10;
  hello.ready = {bytes, 0.01, kAllFormats};
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
  AppendReadyFilter({smallest, largest, format, block}, &bytes);
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
