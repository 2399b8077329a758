// SPDX-License-Identifier: Apache-2.0
// What comes before ranges, and instead of them; ranges that are opened, fetched and opened again,
// in every wrong order.
#include <string>

#include "integration/hostile/call.h"
#include "tests/join/hostile_bodies.h"

namespace rocksieve::join {
namespace {

void SayNothing(const Target& target) {
  Call call(target.address, target.seconds);
  if (call.Greet()) call.End();
}

// What the client says of itself, in the largest numbers.
void LargestHello(const Target& target) {
  for (const Strategy strategy : {Strategy::kAuto, Strategy::kSstFilters, Strategy::kPingPong}) {
    Call call(target.address, target.seconds);
    if (!call.Greet()) return;
    Hello hello = HelloFor(strategy);
    hello.keys = UINT64_MAX;
    hello.existing = {UINT64_MAX, 0, 0xff};
    hello.accepted_filter_bytes = UINT64_MAX;
    hello.readable_formats = 0xff;
    hello.most_round_trips = 1000;
    call.Say(hello);
    call.Say(OpenSome(1, uint64_t{1} << 21, /*server_begins=*/true));
    call.Say(Goodbye());
    call.End();
  }
}

// Round trips without end are wished for: what is planned ahead must not take for ever.
void ManyRoundTrips(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  Hello hello = HelloFor(Strategy::kAuto);
  hello.most_round_trips = 1000;
  call.Say(hello);
  for (uint64_t range = 0; range < 6; range++) {
    call.Say(OpenSome(range, 100'000, /*server_begins=*/true));
  }
  call.End();
}

void HugeNames(const Target& target) {
  const std::string name(200'000, 'n');
  for (int field = 0; field < 4; field++) {
    v1::Start start = Greeting();
    if (field == 0) start.set_column_family(name);
    if (field == 1) start.set_on(name);
    if (field == 2) start.set_view(name);
    if (field == 3) start.set_strategy(name);
    Call call(target.address, target.seconds);
    call.Greet(start);
    call.End();
  }
}

// Lines and colours that a log would show as its own.
void ForgedLogLines(const Target& target) {
  const std::string forged =
      "done\nrocksieve serve: \x1b[31mforged\x1b[0m\r\x07\x9b"
      "31m";
  for (int field = 0; field < 3; field++) {
    v1::Start start = Greeting();
    if (field == 0) start.set_column_family("forged\n\x1b[31m");
    if (field == 1) start.set_on("forged\n\x1b[31m");
    if (field == 2) start.set_strategy("forged\n\x1b[31m");
    Call call(target.address, target.seconds);
    call.Greet(start);
    call.End();
  }
  for (const bool hello : {false, true}) {
    Call call(target.address, target.seconds);
    if (!call.Greet()) return;
    if (hello) call.Say(HelloFor(Strategy::kAuto));
    call.Say(Failure{absl::AbortedError(forged)});
    call.End();
  }
}

// Each kind of message where it does not belong.
void WrongOrder(const Target& target) {
  const Message kinds[] = {HelloFor(Strategy::kAuto),
                           HelloAnswer(),
                           OpenEmpty(1),
                           Facts(),
                           StepWith(1, Part::kMatchBitmap, "\x01"),
                           Fetch{1, 0},
                           Rows(),
                           Goodbye(),
                           Filters()};
  for (const bool hello : {false, true}) {
    for (const Message& message : kinds) {
      Call call(target.address, target.seconds);
      if (!call.Greet()) return;
      if (hello) call.Say(HelloFor(Strategy::kAuto));
      call.Say(message);
      call.Say(message);
      call.Say(Goodbye());
      call.End();
    }
  }
}

// Rows sorted by an expression for clients that are gone.
void LeaveWhileItSorts(const Target& target) {
  v1::Start start = Greeting();
  start.set_on("value.json(/id)");
  for (int i = 0; i < 8; i++) {
    Call call(target.address, 0.1);
    call.Greet(start);
  }
}

void FramesOfNothing(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  v1::Frame frame;
  call.Send(frame);
  *frame.mutable_start() = Greeting();
  call.Send(frame);
  call.End();
}

constexpr uint64_t kSomeKeys = 1000;

// A range that is equal on both sides is opened, fetched and, in the same frame, opened as `again`.
void FetchAndOpenAgain(const Target& target, const Open& again,
                       Operation operation = Operation::kDifference) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kAuto, operation));
  call.Say(OpenEmpty(1));
  call.Say(Fetch{1, 0});
  call.Say(again);
  call.End();
}

void OpenAgainWithdrawn(const Target& target) {
  Open again = OpenEmpty(1);
  again.pruning.filters = 1;
  FetchAndOpenAgain(target, again);
}

void OpenAgainAtTheNextAttempt(const Target& target) { FetchAndOpenAgain(target, OpenEmpty(1, 1)); }

// Also of the largest range number, which stands for rows with a NULL key.
void OpenRangeOfAbsentRows(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kAuto));
  Open open = OpenEmpty(kAbsentRange);
  call.Say(open);
  call.Say(Fetch{kAbsentRange, 0});
  call.Say(open);
  for (uint32_t attempt = 0; attempt < 256; attempt++) call.Say(Fetch{kAbsentRange, attempt});
  call.End();
}

// In few bytes, each of which is answered with much; nothing of it is taken.
void OpenOneRangeOften(const Target& target, Strategy strategy, int times, uint64_t keys) {
  Call call(target.address, target.seconds, /*reads=*/false);
  if (!call.Greet()) return;
  call.Say(HelloFor(strategy));
  for (int i = 0; i < times; i++) {
    Open open = OpenSome(1, keys, /*server_begins=*/true);
    open.interval.end = "5";
    open.attempt = static_cast<uint32_t>(i % 256);
    call.Say(open);
  }
  call.End();
}

void OpenManyRanges(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kKeys));
  for (uint64_t range = 0; range < 10'000; range++) {
    call.Say(OpenSome(range, kSomeKeys, /*server_begins=*/true));
  }
  call.End();
}

// Ranges that need nothing more once they were opened, as fast as they are taken.
void OpenEqualRangesForever(const Target& target, bool reads) {
  Call call(target.address, target.seconds, reads);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kAuto, Operation::kCount));
  for (uint64_t range = 0; call.Flush(); range++) {
    for (int i = 0; i < 1000; i++) call.Say(OpenEmpty(range));
  }
  call.End();
}

void OpenWithHugeKeys(const Target& target, size_t bytes) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kAuto));
  for (uint64_t range = 0; range < 6; range++) {
    Open open = OpenEmpty(range);
    open.interval.begin = std::string(bytes, '\xfe');
    open.interval.end = std::string(bytes, '\xff');
    call.Say(open);
    if (!call.Flush()) break;
  }
  call.End();
}

void OpenWithLargestCounts(const Target& target) {
  for (const uint64_t keys : {(uint64_t{1} << 21) + 1, UINT64_MAX}) {
    Call call(target.address, target.seconds);
    if (!call.Greet()) return;
    call.Say(HelloFor(Strategy::kAuto));
    Open open = OpenSome(UINT64_MAX - 1, keys, /*server_begins=*/true);
    open.attempt = 255;
    open.pruning.filters = UINT64_MAX - 1;
    open.pruning.candidates = UINT32_MAX;
    call.Say(open);
    call.End();
  }
}

// The rows of all that the server has, which nobody takes.
void FetchAndNeverRead(const Target& target) {
  Call call(target.address, target.seconds, /*reads=*/false);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kKeys));
  Open open = OpenSome(1, 0, /*server_begins=*/false);
  open.sum = {};
  call.Say(open);
  call.Say(StepWith(1, Part::kList, std::string(10, 0)));  // a list of none
  call.Say(Fetch{1, 0});
  call.End();
}

}  // namespace

void AddGreetingCases(std::vector<Case>* cases) {
  cases->push_back({"says-nothing", SayNothing});
  cases->push_back({"largest-hello", LargestHello});
  cases->push_back({"many-round-trips", ManyRoundTrips});
  cases->push_back({"huge-names", HugeNames});
  cases->push_back({"forged-log-lines", ForgedLogLines});
  cases->push_back({"wrong-order", WrongOrder});
  cases->push_back({"leaves-while-it-sorts", LeaveWhileItSorts});
  cases->push_back({"frames-of-nothing", FramesOfNothing});
}

Hello HelloFor(Strategy strategy, Operation operation) {
  Hello hello;
  hello.operation = operation;
  hello.salt = 4711;
  hello.keys = 1'000'000;
  hello.strategy = strategy;
  return hello;
}

Open OpenEmpty(uint64_t range, uint32_t attempt) {
  Open open;
  open.range = range;
  open.attempt = attempt;
  open.interval.begin = "\xff\xff\xfe";
  open.interval.end = "\xff\xff\xff";
  return open;
}

Open OpenSome(uint64_t range, uint64_t keys, bool server_begins) {
  Open open = OpenAll(range, keys, server_begins);
  open.interval.begin = "0";
  open.interval.end = "05";
  return open;
}

Open OpenAll(uint64_t range, uint64_t keys, bool server_begins) {
  Open open;
  open.range = range;
  open.sum = {keys, 1, 1};
  open.server_begins = server_begins;
  return open;
}

void AddRangeCases(std::vector<Case>* cases) {
  cases->push_back({"opened-again-too-large", [](const Target& target) {
                      FetchAndOpenAgain(target, OpenAll(1, kSomeKeys, true));
                    }});
  cases->push_back({"opened-again-withdrawn", OpenAgainWithdrawn});
  cases->push_back({"opened-again-unreconciled", [](const Target& target) {
                      FetchAndOpenAgain(target, OpenSome(1, kSomeKeys, true));
                      FetchAndOpenAgain(target, OpenSome(1, kSomeKeys, false));
                    }});
  cases->push_back({"opened-again-next-attempt", OpenAgainAtTheNextAttempt});
  cases->push_back({"opened-again-counting", [](const Target& target) {
                      FetchAndOpenAgain(target, OpenEmpty(1), Operation::kCount);
                    }});
  cases->push_back({"opened-range-of-absent-rows", OpenRangeOfAbsentRows});
  for (const Strategy strategy : {Strategy::kKeys, Strategy::kList, Strategy::kSketch}) {
    cases->push_back(
        {"opened-300-times-" + std::string(NameOf(strategy)), [strategy](const Target& target) {
           OpenOneRangeOften(target, strategy, 300, kSomeKeys);
         }});
  }
  cases->push_back({"opened-300-times-symbols-of-many", [](const Target& target) {
                      OpenOneRangeOften(target, Strategy::kSymbols, 300, uint64_t{1} << 21);
                    }});
  cases->push_back({"many-ranges", OpenManyRanges});
  cases->push_back(
      {"equal-ranges-forever", [](const Target& target) { OpenEqualRangesForever(target, true); }});
  cases->push_back({"equal-ranges-forever-unread",
                    [](const Target& target) { OpenEqualRangesForever(target, false); }});
  cases->push_back(
      {"huge-keys-1MB", [](const Target& target) { OpenWithHugeKeys(target, 900'000); }});
  cases->push_back(
      {"huge-keys-30MB", [](const Target& target) { OpenWithHugeKeys(target, 30 << 20); }});
  cases->push_back({"largest-counts", OpenWithLargestCounts});
  cases->push_back({"rows-never-read", FetchAndNeverRead});
}

}  // namespace rocksieve::join
