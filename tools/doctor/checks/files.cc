// SPDX-License-Identifier: Apache-2.0
// Do files have filters, and do lookups ask them?
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "plugin/range/extractors.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kMostQuoted = 5;
constexpr long long kDefaultPartitionBytes = 4096;  // BlockBasedTableOptions

std::vector<std::string> Shortened(std::vector<std::string> lines) {
  if (lines.size() <= kMostQuoted) return lines;
  const size_t more = lines.size() - kMostQuoted;
  lines.resize(kMostQuoted);
  lines.push_back("and " + std::to_string(more) + " more");
  return lines;
}

void CheckFamily(const FamilyFacts& family, Findings* findings) {
  std::vector<std::string> unreadable, damaged, later;
  bool only_missing = true, only_later = true, only_forbidden = true;
  for (const TreeFile* file : family.tree.files()) {
    // The tables of other formats are not for us to judge.
    if (file->error.empty() || !family.is_block_based) continue;
    unreadable.push_back(file->name + ": " + file->error);
    only_missing &= file->is_missing;
    only_later &= file->is_later;
    only_forbidden &= file->error.find("Permission denied") != std::string::npos;
  }
  for (const TreeFile* file : family.files()) {
    if (file->filter.layout == FilterLayout::kObsolete) continue;  // see CheckFiltersAreRead
    for (const std::string& problem : file->filter.problems) {
      const bool is_later = problem.find("later version") != std::string::npos;
      (is_later ? later : damaged).push_back(file->name + ": " + problem);
    }
  }
  if (!unreadable.empty()) {
    Add(findings, "unreadable-files", Severity::kError, family.name(),
        "there are table files that cannot be read", Shortened(unreadable),
        only_later || only_forbidden
            ? "What they have is not known here. RocksDB may be able to read them."
            : "Lookups that come to them fail, or find nothing.",
        only_later ? "Look with the rocksieve that was built with that release of RocksDB. If "
                     "the other files are of this one, they are damaged: restore them from a "
                     "backup or a replica."
        : only_forbidden ? "Look as a user who may read them."
        : only_missing
            ? "If the program sets db_paths or cf_paths, which no OPTIONS file records, they lie "
              "there, and nothing is wrong. Else restore them from a backup or a replica."
            : "Restore them from a backup or a replica; ldb repair on a copy of the database saves "
              "the rest.");
  }
  if (!damaged.empty()) {
    Add(findings, "damaged-filters", Severity::kError, family.name(),
        "there are damaged filter blocks", Shortened(damaged),
        "No key is lost to a damaged filter of rocksieve: its file is read without one. Where "
        "RocksDB's own checksum of the block is wrong, lookups in the file fail.",
        "Check the disk. Compacting the file builds a new filter, if its data can still be read.");
  }
  if (!later.empty()) {
    Add(findings, "later-version-filters", Severity::kError, family.name(),
        "there are filters of a later version of rocksieve", Shortened(later),
        "They answer every question with \"may match\".",
        "Load the librocksieve.so that wrote them, or compact everything.");
  }
}

// With neither whole keys nor prefixes to hold, a filter is empty and left out: see CheckPrefixes.
bool HoldsKeys(const TreeFile& file) {
  return file.properties.whole_keys_filtered || file.properties.prefixes_filtered;
}

constexpr char kCompact[] =
    "compact everything (CompactRange with BottommostLevelCompaction::kForce): that builds them "
    "anew";

// As BlockBasedTable::FullFilterKeyMayMatch(), RocksDB 7.8: a filter is asked for the whole key if
// the options and the file have them, else for the prefix if the file was built with the same
// extractor.
void CheckFiles(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const std::string& extractor = family.tree.family.prefix_extractor_name;
  Files not_asked, prefixes_idle, prefixes_missing, prefixes_only;
  for (const TreeFile* file : family.files()) {
    if (!file->filter.exists()) continue;
    const bool whole_keys =
        family.tree.family.whole_key_filtering && file->properties.whole_keys_filtered;
    const bool prefixes =
        file->properties.prefixes_filtered &&
        file->properties.HasExtractor(extractor);
    const bool is_of_ranges =  // and CheckRanges() says what is wrong
        file->properties.HearsRanges() && family.policy.policy->answers_ranges();
    if (!whole_keys && !prefixes) {
      not_asked.push_back(file);
    } else if (file->properties.prefixes_filtered && !prefixes && !is_of_ranges) {
      prefixes_idle.push_back(file);
    } else if (!prefixes && !extractor.empty() && extractor != kRangeExtractorName) {
      prefixes_missing.push_back(file);
    } else if (family.tree.family.whole_key_filtering && !whole_keys) {
      prefixes_only.push_back(file);
    }
  }
  const auto evidence = [&](const Files& files) {
    return std::vector<std::string>{
        QuoteFamilyOption(facts, family, "prefix_extractor"),
        QuoteTableOption(facts, family, "whole_key_filtering"),
        QuoteExtractor(*files.front()) + ", whole keys in the filter: " +
            (files.front()->properties.whole_keys_filtered ? "yes" : "no"),
        QuoteFiles(files, family)};
  };
  if (!not_asked.empty()) {
    Add(findings, "prefix-extractor-changed", Severity::kError, family.name(),
        "there are filters that hold other things than lookups ask for", evidence(not_asked),
        "Lookups do not ask them: their files are read as if they had none.",
        "Set prefix_extractor and whole_key_filtering as they were, or compact everything.");
  }
  if (!prefixes_idle.empty()) {
    Add(findings, "prefix-extractor-changed", Severity::kWarning, family.name(),
        "the prefixes in some filters are of another extractor", evidence(prefixes_idle),
        "Lookups still ask for whole keys, but seeks within a prefix are not filtered there, and "
        "the prefixes take memory in vain.",
        "Set prefix_extractor as it was, or compact everything.");
  }
  if (!prefixes_missing.empty()) {
    Add(findings, "prefix-extractor-changed", Severity::kWarning, family.name(),
        "some filters were built without the prefix extractor", evidence(prefixes_missing),
        "Lookups still ask for whole keys, but seeks within a prefix are not filtered there.",
        "Compact everything, or set no prefix_extractor.");
  }
  if (!prefixes_only.empty()) {
    Add(findings, "whole-keys-missing", Severity::kWarning, family.name(),
        "some filters hold prefixes only, though whole keys are wanted", evidence(prefixes_only),
        "They let every missing key pass whose prefix is there.", "Compact everything.");
  }
}

}  // namespace

void CheckDamage(const Facts& facts, Findings* findings) {
  const size_t before = findings->size();
  for (const FamilyFacts& family : facts.families) CheckFamily(family, findings);
  // What the plugin saw is a finding of its own only if we do not see it: the file may be gone.
  if (findings->size() > before || facts.log() == nullptr) return;
  std::vector<std::string> reports;
  for (const LoggedLine& report : facts.log()->plugin_reports) {
    if (report.text.find(kWrongPolicyTaken) != std::string::npos) continue;  // bad-spec
    if (report.text.find(kNotPartitioned) != std::string::npos) continue;    // CheckPartitions
    reports.push_back(Quote(*facts.log(), report));
  }
  if (reports.empty()) return;
  Add(findings, "plugin-report", Severity::kWarning, "",
      "rocksieve has reported something since the database was opened", Shortened(reports),
      "As the report says.", "As the report says.");
}

void CheckFilesHaveFilters(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const Files without = FilesWhere(family, [](const TreeFile& file) {
    // See CheckLastLevel; and `auto` may decide so.
    return !file.filter.exists() && file.properties.keys() > 0 && HoldsKeys(file) &&
           file.filter_is_asked &&
           file.properties.filter_policy_name.rfind("rocksieve.auto", 0) != 0;
  });
  if (without.empty()) return;
  std::vector<std::string> evidence = {QuoteFiles(without, family)};
  const auto unnamed = std::count_if(without.begin(), without.end(), [](const TreeFile* file) {
    return file->properties.filter_policy_name.empty();
  });
  if (unnamed > 0) {
    evidence.push_back("of these, " + std::to_string(unnamed) +
                       " say that they were built without a policy");
  }
  const std::string& built_with = without.back()->properties.filter_policy_name;
  if (!built_with.empty()) {
    evidence.push_back(without.back()->name + " says: filter policy " + built_with);
  }
  evidence.push_back(QuoteTableOption(facts, family, "filter_policy"));
  Add(findings, "files-without-filters", Severity::kWarning, family.name(),
      "there are files without filters", evidence,
      "A lookup of a missing key reads a data block in each of them whose range covers it.",
      "Compactions give them filters little by little; a manual one of everything does so at once "
      "(CompactRange with BottommostLevelCompaction::kForce). If new files come without, find who "
      "writes them: another program, or an SstFileWriter with options of its own.");
}

void CheckFiltersAreRead(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const auto is_obsolete = [](const TreeFile& file) {
    return file.filter.layout == FilterLayout::kObsolete;
  };
  const auto has_other_name = [&](const TreeFile& file) {
    return file.filter.exists() && !is_obsolete(file) &&
           file.filter.stored_name != family.policy.stored_name;
  };
  const Files obsolete = FilesWhere(family, is_obsolete);
  const Files other_name = FilesWhere(family, has_other_name);
  const Files ours_for_builtin = FilesWhere(family, [&](const TreeFile& file) {
    return file.filter.exists() && !is_obsolete(file) && !has_other_name(file) &&
           !family.policy.is_ours() && file.filter.family.rfind("rocksieve", 0) == 0;
  });
  const std::string policy = QuoteTableOption(facts, family, "filter_policy");
  if (!other_name.empty()) {
    Add(findings, "unreadable-filters", Severity::kError, family.name(),
        "there are filters of another policy, which this one does not look for",
        {policy + " looks for filters with the name " + family.policy.stored_name,
         "with the name " + other_name.front()->filter.stored_name + ": " +
             QuoteFiles(other_name, family)},
        "Their files are read as if they had no filters.",
        "Name the policy that they were built with" +
            (other_name.front()->properties.filter_policy_name.empty()
                 ? std::string()
                 : " (" + other_name.front()->properties.filter_policy_name + ")") +
            ", or " + kCompact + ".");
  }
  if (!ours_for_builtin.empty()) {
    Add(findings, "unreadable-filters", Severity::kError, family.name(),
        "there are filters of rocksieve, which RocksDB's own policies cannot ask",
        {policy, "of the family " + ours_for_builtin.front()->filter.family + ": " +
                     QuoteFiles(ours_for_builtin, family)},
        "They answer every question with \"may match\".",
        std::string("Name a policy of rocksieve again, or ") + kCompact + ".");
  }
  if (!obsolete.empty()) {
    Add(findings, "obsolete-filters", Severity::kError, family.name(),
        "there are filters in a form that RocksDB 7.0 and later do not read",
        {"one filter per data block: " + QuoteFiles(obsolete, family)},
        "Their files are read as if they had no filters.",
        std::string("To have filters again, ") + kCompact + ".");
  }
}

void CheckPrefixes(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const ColumnFamily& options = family.tree.family;
  if (!options.whole_key_filtering && options.prefix_extractor_name.empty()) {
    Add(findings, "prefix-extractor-missing", Severity::kError, family.name(),
        "filters are to hold prefixes only, and there is no prefix extractor",
        {QuoteTableOption(facts, family, "whole_key_filtering"),
         QuoteFamilyOption(facts, family, "prefix_extractor")},
        "New filters are empty, and lookups ask none of the old ones.",
        "Set whole_key_filtering=true, or the prefix_extractor that your keys need.");
  } else {
    CheckFiles(facts, family, findings);
  }
}

void CheckPartitions(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const auto option = [&](const char* name) {
    return facts.options.TableValue(family.name(), name);
  };
  if (option("index_type").empty() || option("index_type") == "kTwoLevelIndexSearch") return;
  // RocksDB takes partition_filters=true back, before it writes its OPTIONS file; but who sets the
  // size of partitions wants some.
  const bool asked = option("partition_filters") == "true";
  const std::string kept_bytes = option("metadata_block_size");
  if (!asked && (kept_bytes.empty() || std::atoll(kept_bytes.c_str()) == kDefaultPartitionBytes)) {
    return;
  }
  Add(findings, "partitions-without-index", asked ? Severity::kError : Severity::kWarning,
      family.name(), "partitions of filters need an index of two levels, and are not there without",
      {QuoteTableOption(facts, family, "partition_filters"),
       QuoteTableOption(facts, family, "metadata_block_size"),
       QuoteTableOption(facts, family, "index_type")},
      std::string("RocksDB takes partition_filters=true for false then, without a word: filters "
                  "are in one piece.") +
          (asked ? " A program that loads these options as they are (invoke_prepare_options=false) "
                   "ends at its first flush."
                 : ""),
      "Set index_type=kTwoLevelIndexSearch with partition_filters=true, or none of them, nor "
      "metadata_block_size.");
}

void CheckLastLevel(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const Files skipped =
      FilesWhere(family, [](const TreeFile& file) { return !file.filter_is_asked; });
  if (skipped.empty()) return;
  Add(findings, "last-level-unfiltered", Severity::kWarning, family.name(),
      "the last level works without filters",
      {QuoteFamilyOption(facts, family, "optimize_filters_for_hits"), QuoteFiles(skipped, family)},
      "Every lookup of a missing key reads a data block of the last level.",
      "Set optimize_filters_for_hits=false and compact everything, unless nearly all lookups find "
      "their key.");
}

}  // namespace rocksieve::tools
