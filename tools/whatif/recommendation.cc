#include "tools/whatif/recommendation.h"

#include <cmath>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

// What is less of a gain is not worth a change.
constexpr double kWorthwhile = 0.05;

struct Candidate {
  PolicySpec spec;
  Prediction prediction;
  double us = 0;
};

std::string WholePerThousand(double reads) {
  const double per_thousand = 1000 * reads;
  return Fixed(per_thousand, per_thousand >= 10 ? 0 : per_thousand >= 0.1 ? 2 : 4);
}

std::string Microseconds(double us) { return Fixed(us, us >= 10 ? 0 : us >= 1 ? 1 : 3) + " us"; }

std::string Percent(double share) { return Fixed(100 * share, share < 0.1 ? 1 : 0) + " %"; }

// The candidate of each family that fits the memory, with its setting rounded down to a tenth.
std::vector<Candidate> Candidates(const RecommendationInput& input, Calibration* calibration) {
  std::vector<Candidate> candidates;
  for (const Curve& curve : *input.curves) {
    const double bits = std::floor(10 * curve.BitsFor(input.filter_bytes) + 0.01) / 10;
    if (bits < 1) continue;
    Candidate candidate;
    if (!curve.family.WithBits(bits, &candidate.spec).ok()) continue;
    candidate.prediction = Predict(*input.tree, candidate.spec);
    candidate.us = candidate.prediction.reads * input.read_us +
                   1e-3 * calibration->ProbeNs(candidate.spec, candidate.prediction);
    candidates.push_back(candidate);
  }
  return candidates;
}

const Candidate* Best(const std::vector<Candidate>& candidates, bool builtin_only) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (builtin_only && candidate.spec.rocksdb() == nullptr) continue;
    if (best == nullptr || candidate.us < best->us) best = &candidate;
  }
  return best;
}

const Curve* CurveOf(const std::vector<Curve>& curves, const PolicySpec& spec) {
  for (const Curve& curve : curves) {
    if (curve.name == spec.FamilyName()) return &curve;
  }
  return nullptr;
}

}  // namespace

Recommendation Recommend(const RecommendationInput& input, Calibration* calibration) {
  Recommendation result;
  if (input.now->reads == 0 && !input.tree->has_filters) {
    result.reason = "Nothing: lookups of missing keys meet no file.";
    return result;
  }
  const std::vector<Candidate> candidates = Candidates(input, calibration);
  const Candidate* best = Best(candidates, /*builtin_only=*/false);
  if (best == nullptr) {
    result.reason = "Nothing: no filter is as small as the memory that there is.";
    return result;
  }
  const double reads = best->prediction.reads;
  result.filter_bytes = best->prediction.filter_bytes;
  result.reads = reads;
  result.us_per_lookup = best->us;
  const double now_us = input.now->reads * input.read_us;
  if (input.tree->has_filters && reads >= input.now->reads * (1 - kWorthwhile)) {
    result.reason = "Keep the filters that are there: " + best->spec.text() +
                    ", the best in the same memory, would leave " + WholePerThousand(reads) +
                    " useless reads per 1,000 missing keys of " +
                    WholePerThousand(input.now->reads) + ".";
    return result;
  }
  result.spec = best->spec.text();
  result.reason = result.spec + ": " + input.memory_words +
                  ", 1,000 lookups of missing keys cost " + WholePerThousand(reads) +
                  " useless block reads instead of " + WholePerThousand(input.now->reads) +
                  ". At " + Fixed(input.read_us, input.read_us < 10 ? 1 : 0) +
                  " us per read that is " + Microseconds(best->us) +
                  " per lookup, probes of the filters included, instead "
                  "of " +
                  Microseconds(now_us) + ".";
  const Candidate* builtin = Best(candidates, /*builtin_only=*/true);
  if (builtin != nullptr && builtin != best) {
    result.reason += " The best of RocksDB's own there, " + builtin->spec.text() + ", would cost " +
                     WholePerThousand(builtin->prediction.reads) + " reads.";
  }
  const Curve* curve = CurveOf(*input.curves, best->spec);
  const double bytes = curve == nullptr ? -1 : curve->BytesFor(input.now->reads);
  if (input.tree->has_filters && bytes > 0 && bytes < input.now->filter_bytes) {
    PolicySpec smaller;
    if (curve->family.WithBits(std::ceil(10 * curve->BitsFor(bytes)) / 10, &smaller).ok()) {
      result.reason += " To save memory instead: " + smaller.text() +
                       " has no more reads than now, in " +
                       Percent(bytes / input.now->filter_bytes) + " of the memory.";
    }
  }
  return result;
}

}  // namespace rocksieve::tools
