// SPDX-License-Identifier: Apache-2.0
// Are filters asked for ranges, and those asked that answer for them?
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "plugin/range/extractors.h"
#include "support/text.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {
namespace {

constexpr const char* kBytewise = "leveldb.BytewiseComparator";

// From so many on, seeks tell how a database is read, if fewer than so many of them ask a filter.
constexpr uint64_t kFewestSeeks = 10000;
constexpr double kSmallestAskingShare = 0.01;

// Files with filters that no iterator asks for a range.
Files NotListening(const FamilyFacts& family) {
  return FilesWhere(family, [](const TreeFile& file) {
    return file.filter.exists() && !file.properties.HearsRanges();
  });
}

void Report(const FamilyFacts& family, const std::string& title, std::vector<std::string> evidence,
            const std::string& remedy, Findings* findings) {
  Add(findings, "ranges-unfiltered", Severity::kWarning, family.name(), title, std::move(evidence),
      "Iterators read a block of each sorted run even for ranges that hold nothing; lookups of "
      "single keys are filtered.",
      remedy);
}

}  // namespace

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
  const Files listening = FilesWhere(family, [](const TreeFile& file) {
    return file.filter.exists() && file.properties.HearsRanges();
  });
  if (!asks && !listening.empty()) {
    return Report(family, "prefix_extractor=rocksieve.range was lost",
                  {both[0], QuoteExtractor(*listening.front())},
                  "Set prefix_extractor=rocksieve.range in the program that opens the database; "
                  "what was written meanwhile has to be compacted.",
                  findings);
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
           {QuoteExtractor(*files.front()), QuoteFiles(files, family)},
           "Compact everything.", findings);
  }
}

void CheckRangeExtractor(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  if (family.tree.family.prefix_extractor_name != kRangeExtractorName) return;
  const auto option = [&](const char* name) {
    return facts.options.ColumnFamilyValue(family.name(), name);
  };
  std::vector<std::string> evidence = {QuoteFamilyOption(facts, family, "prefix_extractor")};
  if (std::atof(option("memtable_prefix_bloom_size_ratio").c_str()) > 0 &&
      option("memtable_whole_key_filtering") == "false") {
    evidence.push_back(QuoteFamilyOption(facts, family, "memtable_prefix_bloom_size_ratio"));
  }
  const std::string memtable = option("memtable_factory");
  if (memtable.find("Hash") != std::string::npos || memtable.find("hash") != std::string::npos) {
    evidence.push_back(QuoteFamilyOption(facts, family, "memtable_factory"));
  }
  if (facts.options.TableValue(family.name(), "index_type") == "kHashSearch") {
    evidence.push_back(QuoteTableOption(facts, family, "index_type"));
  }
  if (evidence.size() == 1) return;
  Add(findings, "prefix-extractor-shared", Severity::kWarning, family.name(),
      "what needs prefixes has the extractor of range filters", std::move(evidence),
      "That extractor gives all keys one prefix: filters of prefixes in memtables tell nothing, "
      "and hashes of prefixes have one bucket.",
      "Set memtable_whole_key_filtering=true, a memtable without a hash, and "
      "index_type=kBinarySearch.");
}

void CheckRangesAsked(const Facts& facts, Findings* findings) {
  if (facts.log() == nullptr) return;
  const LogFile& log = *facts.log();
  bool any = false;
  for (const FamilyFacts& family : facts.families) {
    if (family.files().empty()) continue;
    // The counters are of all column families.
    if (!family.policy.works() || !family.policy.policy->answers_ranges() ||
        family.tree.family.prefix_extractor_name != kRangeExtractorName ||
        !NotListening(family).empty()) {
      return;
    }
    any = true;
  }
  const uint64_t seeks = log.ticker("rocksdb.number.db.seek");
  uint64_t asked = log.ticker("rocksdb.bloom.filter.prefix.checked");
  for (const char* level : {"rocksdb.last.level", "rocksdb.non.last.level"}) {  // since 8.3
    for (const char* answer : {".seek.filtered", ".seek.filter.match"}) {
      asked += log.ticker(std::string(level) + answer);
    }
  }
  const double share =
      static_cast<double>(asked) / static_cast<double>(std::max<uint64_t>(seeks, 1));
  if (!any || seeks < kFewestSeeks || share >= kSmallestAskingShare) return;
  const std::string where = log.name + ", after line " + std::to_string(log.tickers_line) + ": ";
  Add(findings, "ranges-unasked", Severity::kWarning, "",
      "iterators ask hardly any filter about their ranges",
      {where + "rocksdb.number.db.seek COUNT : " + std::to_string(seeks),
       where + "filters asked by iterators: " + Thousands(asked)},
      "Iterators read a block of each sorted run even for ranges that hold nothing.",
      "Set ReadOptions::iterate_upper_bound, seek forwards, and leave total_order_seek off. The "
      "program's own metrics tell these apart (rocksieve_range_seeks_total, docs/range.md).");
}

}  // namespace rocksieve::tools
