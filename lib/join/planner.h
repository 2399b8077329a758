// What the side whose turn it is should send next, by its cost in bits on the wire.
//
// Two sides have candidates for a match in a range of the key space: at first all of their keys.
// They take turns. A filter removes, without error, most of the receiver's candidates that are not
// in the sender's set; one of the other moves ends the range, since both sides know the matched
// keys after it. The planner looks ahead over all sequences of some filters and an ending.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rocksieve::join {

enum class MoveKind : uint8_t {
  kFilter = 1,   // a ribbon filter of the sender's candidates
  kList = 2,     // their hashes, Golomb-coded; answered with a bitmap of those that are matched
  kKeys = 3,     // the keys themselves, compressed; answered likewise
  kSymbols = 4,  // rateless set reconciliation; answered with the hashes of what differs
  kSketch = 5,   // a partitioned PinSketch, which names differing cells; symbols for what is left
};

inline constexpr MoveKind kAllMoves[] = {MoveKind::kFilter, MoveKind::kList, MoveKind::kKeys,
                                         MoveKind::kSymbols, MoveKind::kSketch};

// "filter", "list", "keys", "symbols", "sketch".
std::string_view NameOf(MoveKind kind);

struct Move {
  MoveKind kind = MoveKind::kList;
  int columns = 0;     // of a filter, which passes 2^-columns of the missing keys
  int cells_log2 = 0;  // of a sketch: 2^cells_log2 cells per key
  double bits = 0;     // expected, of this move and all that follows it until the range is settled
};

// What is known of a range, from the side whose turn it is.
struct Standing {
  double mine = 0;  // candidates
  double theirs = 0;
  double common = 0;  // estimated: candidates of both
};

// Whether a session begins with filters that one side has already (ready_choice.h).
enum class ReadyFilterUse : uint8_t { kIfItPays, kAlways, kNever };

struct PlannerOptions {
  // Of the sender's keys, front-coded and compressed, if all of them are shipped: from a sample.
  // Fewer of them lie farther apart and cost more each.
  double bits_per_key = 128;
  double all_keys = 0;
  double bits_per_message = 400;  // what a message costs even if it is empty, and its delay
  int most_filters = 4;           // in a row, by both sides together
  // Only this ending, or filters before it: for comparisons.
  std::optional<MoveKind> forced;
  ReadyFilterUse ready_filters = ReadyFilterUse::kIfItPays;
};

// REQUIRES: mine > 0 and theirs > 0. Takes some 10 us.
Move CheapestMove(const Standing& standing, const PlannerOptions& options);

// Bits that each way of ending a range takes, sent by the side whose turn it is; infinite for
// kFilter and kSketch.
double EndingBits(MoveKind kind, const Standing& standing, const PlannerOptions& options);

// What a sketch with so many cells leaves: keys that share a cell with a difference.
double LeftBySketch(const Standing& standing, double cells);

// The differences for which a sketch is made: a little more than expected.
double SketchedDifferences(double expected);

// A list has so many bits per entry beyond what tells n entries apart, so that one list in a
// hundred has a false hit, which the certificate finds.
int ListBitsFor(double receivers_candidates);

// Symbols after which a difference of so many keys is decoded in most cases.
double SymbolsFor(double difference);

// How many of the sender's candidates the receiver has, after `passed` of its `before` passed a
// filter of so many columns.
double CommonAfterFilter(double before, double passed, int columns);

}  // namespace rocksieve::join
