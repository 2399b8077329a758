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
      const double bits = EndingBits(kind, standing, options_);
      if (bits < best.bits) best = {kind, 0, bits};
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
      if (bits < best.bits) best = {MoveKind::kFilter, columns, bits};
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
  }
  return "unknown";
}

int ListBitsFor(double receivers_candidates) {
  return static_cast<int>(std::ceil(std::log2(100 * std::max(receivers_candidates, 1.0))));
}

double SymbolsFor(double difference) {
  return ExpectedRatelessSymbols(difference) + std::sqrt(difference) + 2;
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
      const double mine_only = std::max(0.0, standing.mine - standing.common);
      const double theirs_only = std::max(0.0, standing.theirs - standing.common);
      const double name_bits = 65.5 - std::log2(std::max(1.0, mine_only));
      return SymbolsFor(mine_only + theirs_only) * kSymbolBits + mine_only * name_bits + kSumBits +
             2 * options.bits_per_message;
    }
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
