#include "tools/doctor/checks/evidence.h"

#include <algorithm>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

std::string Quoted(const Facts& facts, const std::string& option, const std::string& value) {
  return facts.options.file_name() + ": " + option + "=" + value;
}

}  // namespace

std::string QuoteTableOption(const Facts& facts, const std::string& family,
                             const std::string& option) {
  return Quoted(facts, option, facts.options.TableValue(family, option));
}

std::string QuoteFamilyOption(const Facts& facts, const std::string& family,
                              const std::string& option) {
  return Quoted(facts, option, facts.options.ColumnFamilyValue(family, option));
}

std::string QuoteDbOption(const Facts& facts, const std::string& option) {
  return Quoted(facts, option, facts.DbOption(option));
}

std::string Quote(const Mention& mention) {
  return mention.where + ": filter_policy: " + mention.text;
}

std::string QuoteFiles(const Files& files, const FamilyFacts& family) {
  constexpr size_t kNamed = 3;
  uint64_t entries = 0;
  for (const TreeFile* file : files) entries += file->properties.entries;
  const auto all = static_cast<double>(std::max<uint64_t>(family.tree.entries(), 1));
  std::string text = Thousands(files.size()) + " of " + Thousands(family.tree.file_count()) +
                     " files with " + Fixed(100 * static_cast<double>(entries) / all, 0) +
                     " % of all entries: ";
  for (size_t i = 0; i < std::min(kNamed, files.size()); i++) {
    text +=
        (i == 0 ? "" : ", ") + files[i]->name + " (level " + std::to_string(files[i]->level) + ")";
  }
  if (files.size() > kNamed) text += " and " + Thousands(files.size() - kNamed) + " more";
  return text;
}

uint64_t KeysOf(const TreeFile& file) {
  const TableProperties& properties = file.properties;
  return properties.entries - std::min(properties.entries, properties.range_deletions);
}

}  // namespace rocksieve::tools
