// What a hostile client can do, case by case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/join/session/messages.h"

namespace rocksieve::join {

struct Target {
  std::string address;
  double seconds = 3;  // that a case may take, about
  uint64_t seed = 1;   // of what is random
};

struct Case {
  std::string name;
  std::function<void(const Target&)> play;
};

// Each of these adds the cases about one thing.
void AddRangeCases(std::vector<Case>* cases);   // ranges, opened and fetched out of order
void AddSketchCases(std::vector<Case>* cases);  // sketches, marks, symbols, lists, keys
void AddFilterCases(std::vector<Case>* cases);  // filters of SST files
void AddStreamCases(std::vector<Case>* cases);  // connections, streams and frames
void AddGreetingCases(std::vector<Case>* cases);
void AddMutatedCases(std::vector<Case>* cases);  // real sessions, changed at random

// What they begin with.
Hello HelloFor(Strategy strategy, Operation operation = Operation::kDifference);
// A range in which neither side has a key: it is equal on both.
Open OpenEmpty(uint64_t range, uint32_t attempt = 0);
// About a twentieth of the server's keys, of which the client says that it has `keys` others.
Open OpenSome(uint64_t range, uint64_t keys, bool answering_side_begins);
// All of them.
Open OpenAll(uint64_t range, uint64_t keys, bool answering_side_begins);

}  // namespace rocksieve::join
