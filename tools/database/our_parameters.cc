#include "database/our_parameters.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "bloom/layout.h"
#include "bloom/reader.h"
#include "cuckoo/reader.h"
#include "filter/family.h"
#include "ribbon/reader.h"

namespace rocksieve::tools {
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

// The seeds of lanes are no probe bits; those of the eighth word are its top byte.
double BloomFill(const FilterBlockInfo& info) {
  uint64_t set = 0, bits = 0;
  for (size_t at = 0; at + bloom::kLineBytes <= info.payload.size(); at += bloom::kLineBytes) {
    for (int lane = 0; lane < bloom::kLanes; lane++) {
      set += std::popcount(LoadLittleEndian64(info.payload.data() + at + 8 * lane));
      bits += 64;
    }
    if (bloom::ProbesOf(info) < 8) continue;  // leaves the eighth word alone
    set += std::popcount(LoadLittleEndian64(info.payload.data() + at + 56) &
                         ~bloom::kNotProbeBits);
    bits += 8;
  }
  return bits == 0 ? 0 : static_cast<double>(set) / static_cast<double>(bits);
}

// Keys over slots: what the builder placed, duplicates of hashes aside.
double CuckooFill(const FilterBlockInfo& info) {
  cuckoo::Table table;
  if (!cuckoo::ParseTable(info, &table)) return 0;
  const uint64_t slots = table.Offset(table.shards);
  uint64_t used = 0;
  for (uint64_t slot = 0; slot < slots; slot++) {
    const uint64_t bit = cuckoo::SlotBit(slot, table.fingerprint_bits, table.first_wide_slot);
    int width = table.fingerprint_bits + (slot >= table.first_wide_slot ? 1 : 0);
    bool holds = false;
    for (uint64_t at = bit; at < bit + static_cast<uint64_t>(width) && !holds; at++) {
      holds = (table.slots[at / 8] >> (at % 8) & 1) != 0;
    }
    used += holds ? 1 : 0;
  }
  return slots == 0 ? 0 : static_cast<double>(used) / static_cast<double>(slots);
}

double RibbonFill(const FilterBlockInfo& info) {
  ribbon::Table table;
  const auto keys = static_cast<double>(info.key_count);
  switch (ribbon::FormOf(info)) {
    case ribbon::Form::kSmall: {
      const auto slots = static_cast<uint8_t>(info.payload[0]);
      return slots == 0 ? 0 : keys / slots;
    }
    case ribbon::Form::kGeneral:
      if (!ribbon::ParseTable(info, &table) || table.layout.groups == 0) return 0;
      return keys / static_cast<double>(table.layout.groups * ribbon::kSlotsPerGroup);
    default:
      return 0;
  }
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

double OurFill(const FilterBlockInfo& info) {
  if (info.key_count == 0 || info.payload.empty()) return 0;
  switch (info.family) {
    case Family::kBloom:
      return BloomFill(info);
    case Family::kCuckoo:
      return CuckooFill(info);
    case Family::kRibbon:
      return RibbonFill(info);
  }
  return 0;
}

std::string OurFillMeaning(Family family) {
  switch (family) {
    case Family::kBloom:
      return "of the probe bits are set";
    case Family::kCuckoo:
      return "of the slots hold a key";
    case Family::kRibbon:
      return "keys per slot";
  }
  return "";
}

}  // namespace rocksieve::tools
