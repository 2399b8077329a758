#include "tools/inspect/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "support/text.h"
#include "tools/inspect/damage.h"
#include "tools/inspect/printable.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 96;

using Rows = std::vector<std::vector<std::string>>;

const char* ChecksumName(rocksdb::ChecksumType type) {
  switch (type) {
    case rocksdb::kCRC32c:
      return "CRC-32C";
    case rocksdb::kxxHash:
      return "xxHash";
    case rocksdb::kxxHash64:
      return "xxHash64";
    case rocksdb::kXXH3:
      return "XXH3";
    default:
      return "none";
  }
}

std::string Percent(double rate) {
  if (rate < 0 || std::isnan(rate)) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", 100 * rate);
  return text;
}

double ProbedRate(const BlockMeasures& block) {
  return block.probes == 0 ? -1
                           : static_cast<double>(block.passes) / static_cast<double>(block.probes);
}

std::string FileLines(const TableFile& file) {
  const TableProperties& properties = file.properties();
  std::string filters = properties.whole_keys_filtered ? "whole keys" : "";
  if (properties.prefixes_filtered && !properties.prefix_extractor_name.empty()) {
    filters += (filters.empty() ? "prefixes (" : ", and prefixes (") +
               properties.prefix_extractor_name + ")";
  }
  return file.path() + ": " + Thousands(file.bytes()) + " bytes, " + Thousands(properties.entries) +
         " keys (" + Thousands(properties.deletions) + " deletions), column family " +
         (properties.column_family_name.empty() ? "unknown" : properties.column_family_name) +
         "\n" + "Table format " + std::to_string(file.footer().format_version) + ", checksum " +
         ChecksumName(file.footer().checksum) + ", comparator " + properties.comparator_name +
         "\n" + "Filter policy " +
         (properties.filter_policy_name.empty() ? "none" : properties.filter_policy_name) +
         (filters.empty() ? "" : ", of " + filters) + "\n";
}

std::string HeaderText(const FilterBlockInfo& info, std::string_view block) {
  std::string text = "family " + std::to_string(static_cast<int>(info.family)) + ", parameter " +
                     std::to_string(info.parameter) + ", " + Thousands(info.key_count) + " keys, " +
                     (info.salted ? "salt " + HexNumber(info.salt) : "no salt") + ", check word " +
                     HexNumber(StoredCheckWord(block));
  return text;
}

std::string RangeText(const FilterBlockInfo& info) {
  return PrintableKey(info.smallest) + " to " + PrintableKey(info.largest) +
         (info.largest_cut ? "..." : "");
}

std::string Shortened(const std::string& text) {
  constexpr size_t kMost = 20;
  return text.size() <= kMost ? text : text.substr(0, kMost - 2) + "..";
}

// What there is to say of a single block.
Rows BlockRows(const FilterBlockOfFile& block, const BlockMeasures& measures) {
  const DecodedFilter& decoded = block.decoded;
  Rows rows = {{"family", decoded.Family()}};
  const std::string parameters = decoded.Parameters();
  if (!parameters.empty()) rows.push_back({"parameters", parameters});
  if (decoded.kind == BlockKind::kOurs) {
    rows.push_back({"header", HeaderText(decoded.info, block.bytes)});
    rows.push_back({"range", RangeText(decoded.info)});
  }
  if (!measures.load.unit.empty()) {
    rows.push_back({"load", Fixed(measures.load.load, 3) + " " + measures.load.unit});
  }
  if (!measures.load.fill_of.empty()) {
    rows.push_back({"fill", Fixed(100 * measures.load.fill, 2) + " % of " + measures.load.fill_of});
  }
  return rows;
}

std::string LeftAligned(const Rows& rows) {
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row[0].size());
  std::string text;
  for (const auto& row : rows) {
    text += "  " + row[0] + std::string(width + 2 - row[0].size(), ' ') + row[1] + "\n";
  }
  return text;
}

// Foreign blocks do not say where their keys begin.
std::string FirstKeyOf(const FilterBlockOfFile& block) {
  if (block.decoded.kind != BlockKind::kOurs) return "";
  return Shortened(PrintableKey(block.decoded.info.smallest));
}
std::string LastKeyOf(const FilterBlockOfFile& block) {
  if (block.decoded.kind != BlockKind::kOurs) {
    return Shortened(PrintableKey(block.partition.last_key));
  }
  return Shortened(PrintableKey(block.decoded.info.largest));
}

std::string PartitionTable(const Inspection& inspection) {
  Rows rows = {{"", "", "", "", "bits", "predicted", "probed", "load", "", ""},
               {"no.", "offset", "bytes", "keys", "per key", "rate, %", "rate, %", "", "first key",
                "last key"}};
  const auto& blocks = inspection.filter->blocks();
  for (size_t i = 0; i < blocks.size(); i++) {
    const FilterBlockOfFile& block = *blocks[i];
    const BlockMeasures& measures = inspection.blocks[i];
    const double bits = 8 * static_cast<double>(block.partition.place.size) /
                        static_cast<double>(std::max<uint64_t>(block.entries, 1));
    rows.push_back({std::to_string(i + 1), std::to_string(block.partition.place.offset),
                    std::to_string(block.partition.place.size), Thousands(block.entries),
                    Fixed(bits, 2), Percent(measures.predicted_rate), Percent(ProbedRate(measures)),
                    Fixed(measures.load.load, 3), FirstKeyOf(block), LastKeyOf(block)});
  }
  return AlignedTable(rows);
}

std::string FilterLines(const Inspection& inspection) {
  const FileFilter& filter = *inspection.filter;
  if (filter.layout() == FilterLayout::kNone) return "It has no filter.\n";
  const bool partitioned = filter.layout() == FilterLayout::kPartitioned;
  Rows rows = {
      {"layout", partitioned ? std::to_string(filter.blocks().size()) + " partitions, index at " +
                                   "offset " + std::to_string(filter.top().offset)
                             : "one block at offset " + std::to_string(filter.top().offset)},
      {"stored as", filter.stored_name()},
      {"size", Thousands(filter.bytes()) + " bytes, " + Thousands(filter.entries()) + " keys, " +
                   Fixed(inspection.BitsPerEntry(), 2) + " bits per key"}};
  if (partitioned && !filter.blocks().empty()) {
    rows.push_back({"largest", filter.Family() + ", " + filter.Largest()->decoded.Parameters()});
  } else if (!partitioned && !filter.blocks().empty()) {
    const Rows more = BlockRows(*filter.blocks()[0], inspection.blocks[0]);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  rows.push_back({"predicted", Percent(inspection.predicted_rate) + " % false positives"});
  if (inspection.probed_rate >= 0) {
    rows.push_back({"probed", Percent(inspection.probed_rate) + " % false positives, of " +
                                  Thousands(inspection.probes) + " random keys"});
  }
  const bool table = partitioned && !filter.blocks().empty();
  return "Filter:\n" + LeftAligned(rows) + (table ? "\n" + PartitionTable(inspection) : "");
}

std::string DamageLines(const Inspection& inspection) {
  std::string text;
  for (const std::string& problem : inspection.filter->problems()) {
    text += Wrapped("Damaged: " + problem + ".", kWidth) + "\n";
  }
  for (const auto& block : inspection.filter->blocks()) {
    if (block->damage.empty() || OpenFilter(block->bytes).state != BlockState::kDamaged) continue;
    std::istringstream lines(DescribeDamage(block->bytes));
    for (std::string line; std::getline(lines, line);) {
      text += "  At offset " + std::to_string(block->partition.place.offset) + ": " + line + "\n";
    }
  }
  if (!text.empty()) text += Wrapped(kDamageRemedy, kWidth) + "\n";
  return text;
}

}  // namespace

std::string TextReport(const Inspection& inspection, bool hex) {
  std::string text = FileLines(*inspection.file) + "\n" + FilterLines(inspection);
  const std::string damage = DamageLines(inspection);
  if (!damage.empty()) text += "\n" + damage;
  if (!hex) return text;
  for (const auto& block : inspection.filter->blocks()) {
    text += "\nBlock at offset " + std::to_string(block->partition.place.offset) + ", " +
            std::to_string(block->bytes.size()) + " bytes:\n" +
            HexDump(block->bytes, block->partition.place.offset);
  }
  return text;
}

}  // namespace rocksieve::tools
