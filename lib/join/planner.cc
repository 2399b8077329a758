#include "join/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sketch/rateless_iblt.h"

namespace rocksieve::join {
namespace {

constexpr int kMostColumns = 14;
constexpr double kFrameBits = 8 * 45;  // of a filter block
constexpr double kSumBits = 8 * 24;    // a count and a sum
constexpr double kSymbolBits = 76;
constexpr int kMostCellsLog2 = 9;
constexpr double kMostIdBits = 20;
constexpr double kFewestSketched = 100;  // below, symbols alone are as good

// Binary entropy.
double Entropy(double share) {
  if (share <= 0 || share >= 1) return 0;
  return -(share * std::log2(share) + (1 - share) * std::log2(1 - share));
}

// Of a ribbon filter (lib/ribbon): its slots, its directory, and the frame.
double FilterBits(double keys, int columns) {
  return keys * (1.0015 * columns + 0.035) + 15 * columns + kFrameBits;
}

double HitBits(const Standing& standing) {
  return standing.mine * Entropy(standing.common / std::max(standing.mine, 1.0)) + kSumBits;
}

double OneSided(double all, double common) { return std::max(0.0, all - common); }

// Of symbols and their answer, for so many differences of which a part must be named.
double SymbolBits(double differences, double named) {
  return SymbolsFor(differences) * kSymbolBits + named * (65.5 - std::log2(std::max(1.0, named))) +
         kSumBits;
}

// A sketch, its marks, and symbols for the rest.
double SketchBits(const Standing& standing, int cells_log2, const PlannerOptions& options) {
  const double mine_only = OneSided(standing.mine, standing.common);
  const double differences =
      SketchedDifferences(mine_only + OneSided(standing.theirs, standing.common));
  const double keys = std::max(standing.mine, standing.theirs);
  // Groups of about 15 differences: an id tells 15 * 2^cells_log2 * keys / differences cells apart.
  const double id_bits = std::ceil(std::log2(15 * keys / differences) + cells_log2);
  if (differences < kFewestSketched || id_bits > kMostIdBits) {
    return std::numeric_limits<double>::infinity();
  }
  const double left = LeftBySketch(standing, std::ldexp(keys, cells_log2));
  return differences * std::max(6.0, id_bits) * 1.09 + 500 +
         standing.mine * Entropy(mine_only / standing.mine) + SymbolBits(left, 0.3 * left) +
         4 * options.bits_per_message;
}

class Search {
 public:
  explicit Search(const PlannerOptions& options) : options_(options) {}

  // The best move at this standing, whose costs are below `limit`; else bits is infinite.
  Move Best(const Standing& standing, int filters_left, double limit) const {
    Move best;
    best.bits = std::numeric_limits<double>::infinity();
    for (MoveKind kind : kAllMoves) {
      if (kind == MoveKind::kFilter) continue;
      if (options_.forced && kind != *options_.forced) continue;
      if (kind == MoveKind::kSketch) {
        for (int cells_log2 = 1; cells_log2 <= kMostCellsLog2; cells_log2++) {
          const double bits = SketchBits(standing, cells_log2, options_);
          if (bits < best.bits) best = {kind, 0, cells_log2, bits};
        }
        continue;
      }
      const double bits = EndingBits(kind, standing, options_);
      if (bits < best.bits) best = {kind, 0, 0, bits};
    }
    if (filters_left == 0) return best;
    limit = std::min(limit, best.bits);
    for (int columns = 1; columns <= kMostColumns; columns++) {
      const double cost = FilterBits(standing.mine, columns) + options_.bits_per_message;
      if (cost >= limit) break;
      const double others = standing.theirs - standing.common;
      const Standing after = {standing.common + std::ldexp(others, -columns), standing.mine,
                              standing.common};
      const double bits = cost + Best(after, filters_left - 1, limit - cost).bits;
      if (bits < best.bits) best = {MoveKind::kFilter, columns, 0, bits};
      limit = std::min(limit, bits);
    }
    return best;
  }

 private:
  const PlannerOptions& options_;
};

}  // namespace

std::string_view NameOf(MoveKind kind) {
  switch (kind) {
    case MoveKind::kFilter:
      return "filter";
    case MoveKind::kList:
      return "list";
    case MoveKind::kKeys:
      return "keys";
    case MoveKind::kSymbols:
      return "symbols";
    case MoveKind::kSketch:
      return "sketch";
  }
  return "unknown";
}

int ListBitsFor(double receivers_candidates) {
  return static_cast<int>(std::ceil(std::log2(100 * std::max(receivers_candidates, 1.0))));
}

double SymbolsFor(double difference) {
  return ExpectedRatelessSymbols(difference) + std::sqrt(difference) + 2;
}

double SketchedDifferences(double expected) { return 1.02 * expected + 1.5 * std::sqrt(expected); }

// Of keys that only one side has, all stay whose cell has a key of the other; keys of the receiver
// that stand alone in a differing cell are set aside, even if the difference is another key's.
double LeftBySketch(const Standing& standing, double cells) {
  const double mine_only = OneSided(standing.mine, standing.common);
  const double theirs_only = OneSided(standing.theirs, standing.common);
  const double differences = mine_only + theirs_only;
  return (2 * mine_only * standing.theirs + theirs_only * standing.theirs +
          differences * differences) /
         cells;
}

double EndingBits(MoveKind kind, const Standing& standing, const PlannerOptions& options) {
  const double answer_bits = HitBits(standing) + 2 * options.bits_per_message;
  switch (kind) {
    case MoveKind::kFilter:
      break;
    case MoveKind::kList:
      return standing.mine * (ListBitsFor(standing.theirs) + 1.6) + answer_bits;
    case MoveKind::kKeys:
      return standing.mine * (options.bits_per_key +
                              std::log2(std::max(1.0, options.all_keys / standing.mine))) +
             answer_bits;
    case MoveKind::kSymbols: {
      const double mine_only = OneSided(standing.mine, standing.common);
      return SymbolBits(mine_only + OneSided(standing.theirs, standing.common), mine_only) +
             2 * options.bits_per_message;
    }
    case MoveKind::kSketch:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

double CommonAfterFilter(double before, double passed, int columns) {
  const double rate = std::ldexp(1.0, -columns);
  return std::max(0.0, (passed - before * rate) / (1 - rate));
}

Move CheapestMove(const Standing& standing, const PlannerOptions& options) {
  Standing known = standing;
  known.common = std::clamp(known.common, 0.0, std::min(known.mine, known.theirs));
  return Search(options).Best(known, options.most_filters, std::numeric_limits<double>::infinity());
}

}  // namespace rocksieve::join
