// prefix-extractor-missing, prefix-extractor-changed, whole-keys-missing.
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

bool SameExtractor(const FamilyFacts& family, const TreeFile& file) {
  return file.properties.prefix_extractor_name == family.tree.family.prefix_extractor_name;
}

void CheckMissing(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  findings->push_back(
      {"prefix-extractor-missing",
       Severity::kError,
       family.name(),
       "filters are to hold prefixes only, and there is no prefix extractor",
       {QuoteTableOption(facts, family.name(), "whole_key_filtering"),
        QuoteFamilyOption(facts, family.name(), "prefix_extractor")},
       "New filters are empty, and lookups ask none of the old ones.",
       "Set whole_key_filtering=true, or the prefix_extractor that your keys need."});
}

// As BlockBasedTable::FullFilterKeyMayMatch(), RocksDB 7.8: a filter is asked for the whole key if
// the options and the file have them, else for the prefix if the file was built with the same
// extractor.
void CheckFiles(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  Files not_asked, prefixes_idle, prefixes_only;
  for (const TreeFile* file : family.files()) {
    if (!file->filter.exists()) continue;
    const bool whole_keys =
        family.tree.family.whole_key_filtering && file->properties.whole_keys_filtered;
    const bool prefixes = file->properties.prefixes_filtered && SameExtractor(family, *file);
    if (!whole_keys && !prefixes) {
      not_asked.push_back(file);
    } else if (file->properties.prefixes_filtered && !prefixes) {
      prefixes_idle.push_back(file);
    } else if (family.tree.family.whole_key_filtering && !whole_keys) {
      prefixes_only.push_back(file);
    }
  }
  const auto evidence = [&](const Files& files) {
    const TableProperties& file = files.front()->properties;
    return std::vector<std::string>{
        QuoteFamilyOption(facts, family.name(), "prefix_extractor"),
        QuoteTableOption(facts, family.name(), "whole_key_filtering"),
        files.front()->name + " says: prefix extractor " +
            (file.prefix_extractor_name.empty() ? "none" : file.prefix_extractor_name) +
            ", whole keys in the filter: " + (file.whole_keys_filtered ? "yes" : "no"),
        QuoteFiles(files, family)};
  };
  if (!not_asked.empty()) {
    findings->push_back({"prefix-extractor-changed", Severity::kError, family.name(),
                         "there are filters that hold other things than lookups ask for",
                         evidence(not_asked),
                         "Lookups do not ask them: their files are read as if they had none.",
                         "Set prefix_extractor and whole_key_filtering as they were, or compact "
                         "everything."});
  }
  if (!prefixes_idle.empty()) {
    findings->push_back(
        {"prefix-extractor-changed", Severity::kWarning, family.name(),
         "the prefixes in some filters are of another extractor", evidence(prefixes_idle),
         "Lookups still ask for whole keys, but seeks within a prefix are not filtered there, and "
         "the prefixes take memory in vain.",
         "Set prefix_extractor as it was, or compact everything."});
  }
  if (!prefixes_only.empty()) {
    findings->push_back(
        {"whole-keys-missing", Severity::kWarning, family.name(),
         "some filters hold prefixes only, though whole keys are wanted", evidence(prefixes_only),
         "They let every missing key pass whose prefix is there.", "Compact everything."});
  }
}

}  // namespace

void CheckPrefixes(const Facts& facts, Findings* findings) {
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.works()) continue;
    const ColumnFamily& options = family.tree.family;
    if (!options.whole_key_filtering && options.prefix_extractor_name.empty()) {
      CheckMissing(facts, family, findings);
    } else {
      CheckFiles(facts, family, findings);
    }
  }
}

}  // namespace rocksieve::tools
