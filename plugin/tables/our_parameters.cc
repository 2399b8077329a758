#include "plugin/tables/our_parameters.h"

#include <cstdio>

#include "lib/bloom/layout.h"
#include "lib/bloom/reader.h"
#include "lib/cuckoo/reader.h"
#include "lib/filter/family.h"
#include "lib/ribbon/reader.h"

namespace rocksieve {
namespace {

std::string BloomParameters(const FilterBlockInfo& info) {
  return std::to_string(bloom::ProbesOf(info)) + " probes" +
         (bloom::IsThorough(info) ? " (thorough)" : "") + ", " +
         std::to_string(info.payload.size() / bloom::kLineBytes) + " lines of 64 bytes";
}

std::string CuckooParameters(const FilterBlockInfo& info) {
  cuckoo::Table table;
  if (!cuckoo::ParseTable(info, &table)) return "";
  const uint64_t slots = table.Offset(table.shards);
  std::string bits = std::to_string(table.fingerprint_bits);
  if (table.first_wide_slot < slots) bits += " and " + std::to_string(table.fingerprint_bits + 1);
  return "fingerprints of " + bits + " bits, " + std::to_string(slots) + " slots in " +
         std::to_string(table.shards) + " shards";
}

std::string RibbonParameters(const FilterBlockInfo& info) {
  std::string columns = std::to_string(ribbon::ColumnsOf(info.parameter)) + " columns";
  switch (ribbon::FormOf(info)) {
    case ribbon::Form::kMatchAll:
      return "matches all: its keys could not be placed";
    case ribbon::Form::kSmall:
      return columns + ", small form";
    case ribbon::Form::kGeneral: {
      ribbon::Table table;
      if (!ribbon::ParseTable(info, &table)) return "";
      const double wide = ribbon::WidthOf(table).wide_share;
      char text[64];
      std::snprintf(text, sizeof(text), "%.2f columns", table.layout.columns + wide);
      return text + std::string(", ") + std::to_string(table.buckets) + " buckets, " +
             std::to_string(table.layout.groups * ribbon::kSlotsPerGroup) + " slots" +
             (table.reseed > 0 ? ", reseeded " + std::to_string(table.reseed) + " times" : "");
    }
    case ribbon::Form::kDamaged:
      break;
  }
  return "";
}

}  // namespace

std::string OurFamilyName(Family family) {
  return "rocksieve." + std::string(FindFamily(family)->name);
}

std::string OurParameters(const FilterBlockInfo& info) {
  if (info.key_count == 0 && info.payload.empty()) return "no keys";
  switch (info.family) {
    case Family::kBloom:
      return BloomParameters(info);
    case Family::kCuckoo:
      return CuckooParameters(info);
    case Family::kRibbon:
      return RibbonParameters(info);
  }
  return "";
}

}  // namespace rocksieve
