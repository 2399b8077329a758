// What comes before ranges, and instead of them.
#include <string>

#include "integration/hostile/bodies.h"
#include "integration/hostile/call.h"
#include "integration/hostile/client_cases.h"

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
    hello.ready = {UINT64_MAX, 0, 0xff};
    hello.accepted_ready_bytes = UINT64_MAX;
    hello.readable_formats = 0xff;
    hello.most_round_trips = 1000;
    call.Say(hello);
    call.Say(OpenSome(1, uint64_t{1} << 21, /*answering_side_begins=*/true));
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
    call.Say(OpenSome(range, 100'000, /*answering_side_begins=*/true));
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
                           TurnWith(1, Part::kHits, "\x01"),
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

// Rows sorted by an attribute for clients that are gone.
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

}  // namespace rocksieve::join
