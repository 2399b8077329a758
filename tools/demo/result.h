// Everything the demonstration found out, for the reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/interval.h"
#include "tools/demo/lookups.h"
#include "tools/demo/shape.h"
#include "tools/demo/timing.h"

namespace rocksieve::tools {

struct VariantResult {
  double FilterBytesPerKey() const;
  double ReadsPer1000Missing() const;  // REQUIRES: missing.keys > 0
  Share ObservedRate() const {
    return ObservedShare(missing.false_positives, missing.filter_probes);
  }
  // Nothing was asked of a filter if there is none, or if no key is missing.
  bool HasRates() const { return missing.filter_probes > 0; }

  std::string name, directory;  // as in Variant
  uint64_t keys = 0;            // in the tree
  uint64_t filter_bytes = 0;    // in the tree
  PresentCheck present;
  MissingCosts missing;
  Share expected_rate;  // per filter probe, the interval for so many probes; if HasRates()
  LookupTimes times;
  std::string tree_difference;  // from the tree without filters; empty if there is none
};

struct DemoResult {
  // What went wrong, in sentences. Empty if all is well.
  std::vector<std::string> FailedChecks() const;

  std::string keys_source;
  uint64_t lines = 0, present_keys = 0, missing_keys = 0;
  TreeShape tree;
  std::vector<VariantResult> variants;  // in the order of MakeVariants()
  std::string kept_directory;           // empty if the databases are removed
  double seconds = 0;                   // the whole run
};

}  // namespace rocksieve::tools
