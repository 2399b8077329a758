// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/recommendation.h"

#include <cmath>

#include "support/table.h"
#include "support/text.h"
#include "tools/whatif/prediction.h"

namespace rocksieve::tools {
namespace {

constexpr double kStep = 0.5, kLargestBits = 64;

double Between(double low, double high, double share) { return low + (high - low) * share; }

// What is less of a gain is not worth a change.
constexpr double kWorthwhile = 0.05;

struct Candidate {
  const Curve* curve = nullptr;
  PolicySpec spec;
  Prediction prediction;
  double us = 0;
};

std::string WholePerThousand(double reads) {
  return Significant(1000 * reads, 1000 * reads >= 100 ? 4 : 3);
}

std::string Microseconds(double us) { return Fixed(us, us >= 10 ? 0 : us >= 1 ? 1 : 3) + " us"; }

std::string Percent(double share) { return Fixed(100 * share, share < 0.1 ? 1 : 0) + " %"; }

// The policy of the curve's family that fits the memory, with its setting rounded down to a tenth,
// if there is one.
void AddCandidate(const PlannedTree& tree, const Curve& curve, double filter_bytes, double read_us,
                  Calibration* calibration, std::vector<Candidate>* candidates) {
  const double bits = std::floor(10 * curve.BitsFor(filter_bytes) + 0.01) / 10;
  Candidate candidate = {&curve, {}, {}, 0};
  if (bits < 1 || !curve.family.WithBits(bits, &candidate.spec).ok()) return;
  candidate.prediction = Predict(tree, candidate.spec);
  candidate.us = candidate.prediction.reads * read_us +
                 1e-3 * calibration->ProbeNs(candidate.spec, candidate.prediction);
  candidates->push_back(candidate);
}

const Candidate* Best(const std::vector<Candidate>& candidates, bool builtin_only) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (builtin_only && candidate.spec.rocksdb() == nullptr) continue;
    if (best == nullptr || candidate.us < best->us) best = &candidate;
  }
  return best;
}

}  // namespace

double Curve::ReadsAt(double filter_bytes) const {
  for (size_t i = 1; i < points.size(); i++) {
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (filter_bytes < low.filter_bytes || filter_bytes > high.filter_bytes) continue;
    const double share = (filter_bytes - low.filter_bytes) / (high.filter_bytes - low.filter_bytes);
    if (low.reads <= 0 || high.reads <= 0) return Between(low.reads, high.reads, share);
    return std::exp(Between(std::log(low.reads), std::log(high.reads), share));
  }
  return -1;
}

double Curve::BitsFor(double filter_bytes) const {
  if (points.empty() || points.front().filter_bytes > filter_bytes) return -1;
  for (size_t i = 1; i < points.size(); i++) {
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (high.filter_bytes < filter_bytes) continue;
    return Between(low.bits, high.bits,
                   (filter_bytes - low.filter_bytes) / (high.filter_bytes - low.filter_bytes));
  }
  return points.back().bits;
}

double Curve::BytesFor(double reads) const {
  for (size_t i = 0; i < points.size(); i++) {
    if (points[i].reads > reads) continue;
    if (i == 0) return points[0].filter_bytes;
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (high.reads <= 0 || reads <= 0) return high.filter_bytes;
    const double share = std::log(low.reads / reads) / std::log(low.reads / high.reads);
    return Between(low.filter_bytes, high.filter_bytes, share);
  }
  return -1;
}

Curve CurveOf(const PlannedTree& tree, const PolicySpec& family, double least, double most) {
  Curve curve;
  curve.name = family.FamilyName();
  curve.family = family;
  const double byte_per_entry_bit = static_cast<double>(tree.Entries()) / 8;
  for (double bits = 1; bits <= kLargestBits; bits += kStep) {
    PolicySpec policy;
    if (!family.WithBits(bits, &policy).ok()) continue;
    const Prediction prediction = Predict(tree, policy);
    const CurvePoint point = {bits, prediction.filter_bytes, prediction.reads};
    // Keeps the last point below the range, so that the curve begins before it. Rounding up makes
    // several settings of one size, of which the best is kept.
    if (!curve.points.empty()) {
      const CurvePoint& last = curve.points.back();
      const bool below = point.filter_bytes <= least * byte_per_entry_bit;
      const bool same = point.filter_bytes <= last.filter_bytes * 1.0001;
      if (same && point.reads >= last.reads) continue;
      if (below || same) curve.points.pop_back();
    }
    curve.points.push_back(point);
    if (point.filter_bytes >= most * byte_per_entry_bit) break;
  }
  return curve;
}

Json Recommend(const PlannedTree& tree, const Prediction& now, const std::vector<Curve>& curves,
               double filter_bytes, const std::string& memory_words, double read_us,
               Calibration* calibration) {
  Json result = {{"spec", nullptr},
                 {"filter_bytes", 0},
                 {"expected_useless_reads_per_missing_lookup", 0.0},
                 {"microseconds_per_missing_lookup", 0.0},
                 {"reason", "Nothing: lookups of missing keys meet no file."}};
  if (now.reads == 0 && !tree.has_filters) return result;
  std::vector<Candidate> candidates;
  for (const Curve& curve : curves) {
    AddCandidate(tree, curve, filter_bytes, read_us, calibration, &candidates);
  }
  const Candidate* best = Best(candidates, /*builtin_only=*/false);
  if (best == nullptr) {
    result["reason"] = "Nothing: no filter is as small as the memory that there is.";
    return result;
  }
  const double reads = best->prediction.reads;
  result["filter_bytes"] = std::llround(best->prediction.filter_bytes);
  result["expected_useless_reads_per_missing_lookup"] = reads;
  result["microseconds_per_missing_lookup"] = best->us;
  if (tree.has_filters && reads >= now.reads * (1 - kWorthwhile)) {
    result["reason"] = "Keep the filters that are there: " + best->spec.text() +
                       ", the best in the same memory, would leave " + WholePerThousand(reads) +
                       " useless reads per 1,000 missing keys of " + WholePerThousand(now.reads) +
                       ".";
    return result;
  }
  std::string reason =
      best->spec.text() + ": " + memory_words + ", 1,000 lookups of missing keys cost " +
      WholePerThousand(reads) + " useless block reads instead of " + WholePerThousand(now.reads) +
      ". At " + Fixed(read_us, read_us < 10 ? 1 : 0) + " us per read that is " +
      Microseconds(best->us) + " per lookup, probes of the filters included, instead of " +
      Microseconds(now.reads * read_us) + ".";
  const Candidate* builtin = Best(candidates, /*builtin_only=*/true);
  if (builtin != nullptr && builtin != best) {
    reason += " The best of RocksDB's own there, " + builtin->spec.text() + ", would cost " +
              WholePerThousand(builtin->prediction.reads) + " reads.";
  }
  const double bytes = best->curve->BytesFor(now.reads);
  PolicySpec smaller;
  if (tree.has_filters && bytes > 0 && bytes < now.filter_bytes &&
      best->curve->family.WithBits(std::ceil(10 * best->curve->BitsFor(bytes)) / 10, &smaller)
          .ok()) {
    reason += " To save memory instead: " + smaller.text() + " has no more reads than now, in " +
              Percent(bytes / now.filter_bytes) + " of the memory.";
  }
  if (tree.answers_ranges && !best->spec.answers_ranges()) {
    reason +=
        " It would filter ranges no more, as those of now do: --ranges shows what that costs.";
  }
  result["spec"] = best->spec.text();
  result["reason"] = reason;
  return result;
}

}  // namespace rocksieve::tools
