// SPDX-License-Identifier: Apache-2.0
// Are ranges asked of filters that can answer them?
#include <string>
#include <vector>

#include "plugin/range/extractors.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {
namespace {

constexpr const char* kBytewise = "leveldb.BytewiseComparator";

// Files with filters that no iterator asks for a range.
Files NotListening(const FamilyFacts& family) {
  Files files;
  for (const TreeFile* file : family.files()) {
    if (file->filter.exists() && !file->properties.HearsRanges()) files.push_back(file);
  }
  return files;
}

void Report(const FamilyFacts& family, const std::string& title, std::vector<std::string> evidence,
            const std::string& remedy, Findings* findings) {
  findings->push_back({"ranges-unfiltered", Severity::kWarning, family.name(), title,
                       std::move(evidence),
                       "Iterators read a block of each sorted run even for ranges that hold "
                       "nothing; lookups of single keys are filtered.",
                       remedy});
}

}  // namespace

// Findings: ranges-unfiltered.
void CheckRanges(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const ColumnFamily& options = family.tree.family;
  const bool asks = options.prefix_extractor_name == kRangeExtractorName;
  const std::vector<std::string> both = {QuoteFamilyOption(facts, family, "prefix_extractor"),
                                         QuoteTableOption(facts, family, "filter_policy")};
  if (!family.policy.policy->answers_ranges()) {
    if (asks) {
      Report(family, "filters are asked for ranges that they do not answer for", both,
             "Set filter_policy=rocksieve.range:12 and compact, or another prefix_extractor.",
             findings);
    }
    return;
  }
  if (!asks) {
    return Report(family, "filters could answer for ranges, and are not asked", both,
                  "Set prefix_extractor=rocksieve.range, and compact what was written before.",
                  findings);
  }
  if (options.comparator_name != kBytewise) {
    return Report(family, "filters answer for ranges of the bytewise order alone",
                  {QuoteFamilyOption(facts, family, "comparator")},
                  "Take rocksieve.ribbon:10, which has fewer false positives for single keys.",
                  findings);
  }
  const Files files = NotListening(family);
  if (!files.empty()) {
    Report(family, "some files were written without prefix_extractor=rocksieve.range",
           {files.front()->name + " says: prefix extractor " +
                (files.front()->properties.prefix_extractor_name.empty()
                     ? "none"
                     : files.front()->properties.prefix_extractor_name),
            QuoteFiles(files, family)},
           "Compact everything.", findings);
  }
}

}  // namespace rocksieve::tools
