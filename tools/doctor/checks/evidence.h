// Words that several checks use to quote what they saw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/doctor/facts.h"

namespace rocksieve::tools {

// "OPTIONS-000014: filter_policy=nullptr"
std::string QuoteTableOption(const Facts& facts, const std::string& family,
                             const std::string& option);
std::string QuoteFamilyOption(const Facts& facts, const std::string& family,
                              const std::string& option);
std::string QuoteDbOption(const Facts& facts, const std::string& option);

// "LOG.old.1795251550876881, line 143: filter_policy: rocksieve.bloom:10"
std::string Quote(const Mention& mention);

using Files = std::vector<const TreeFile*>;

// "12 of 35 files with 40 % of all entries: 000012.sst (level 1), ... and 9 more"
std::string QuoteFiles(const Files& files, const FamilyFacts& family);

// Keys that a filter of the file would hold.
uint64_t KeysOf(const TreeFile& file);

}  // namespace rocksieve::tools
