#include "tools/inspect/json_report.h"

#include <cmath>

#include <rocksdb/version.h>
#include <nlohmann/json.hpp>

#include "tools/inspect/damage.h"
#include "tools/inspect/printable.h"

namespace rocksieve::tools {
namespace {

using Json = nlohmann::ordered_json;

Json Rate(double rate) { return rate < 0 || std::isnan(rate) ? Json(nullptr) : Json(rate); }

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

const char* LayoutName(FilterLayout layout) {
  switch (layout) {
    case FilterLayout::kNone:
      return "none";
    case FilterLayout::kFull:
      return "full";
    case FilterLayout::kPartitioned:
      return "partitioned";
    case FilterLayout::kObsolete:
      return "obsolete";
  }
  return "";
}

Json Header(const FilterBlockOfFile& block) {
  if (block.decoded.kind != BlockKind::kOurs) return nullptr;
  const FilterBlockInfo& info = block.decoded.info;
  return {{"family_number", static_cast<int>(info.family)},
          {"parameter", info.parameter},
          {"key_count", info.key_count},
          {"salt_hex", info.salted ? Json(HexNumber(info.salt)) : Json(nullptr)},
          {"check_word_hex", HexNumber(StoredCheckWord(block.bytes))},
          {"smallest_hex", HexBytes(info.smallest)},
          {"largest_hex", HexBytes(info.largest)},
          {"largest_cut", info.largest_cut}};
}

Json Block(const FilterBlockOfFile& block, const BlockMeasures& measures, bool partitioned,
           bool hex) {
  const auto bytes = static_cast<double>(block.partition.place.size);
  const auto keys = static_cast<double>(block.entries);
  const bool probed = measures.probes > 0;
  Json json = {
      {"offset", block.partition.place.offset},
      {"bytes", block.partition.place.size},
      {"keys", block.entries},
      {"bits_per_key", block.entries > 0 ? Json(8 * bytes / keys) : Json(nullptr)},
      {"family", block.decoded.Family()},
      {"parameters", TextOrNull(block.decoded.Parameters())},
      {"predicted_false_positive_rate", Rate(measures.predicted_rate)},
      {"probed_false_positive_rate",
       probed ? Json(static_cast<double>(measures.passes) / static_cast<double>(measures.probes))
              : Json(nullptr)},
      {"probes", measures.probes},
      {"passes", measures.passes},
      {"load", measures.load.unit.empty() ? Json(nullptr) : Json(measures.load.load)},
      {"load_unit", TextOrNull(measures.load.unit)},
      {"fill", measures.load.fill_of.empty() ? Json(nullptr) : Json(measures.load.fill)},
      {"fill_of", TextOrNull(measures.load.fill_of)},
      {"last_key_hex", partitioned ? Json(HexBytes(block.partition.last_key)) : Json(nullptr)},
      {"header", Header(block)},
      {"damage", TextOrNull(block.damage)}};
  if (hex) json["bytes_hex"] = HexBytes(block.bytes);
  return json;
}

}  // namespace

std::string JsonReport(const Inspection& inspection, bool hex) {
  const TableFile& file = *inspection.file;
  const TableProperties& properties = file.properties();
  const FileFilter& filter = *inspection.filter;
  const bool exists = filter.layout() != FilterLayout::kNone;
  Json json = {
      {"rocksieve_version", ROCKSIEVE_VERSION},
      {"rocksdb_version", rocksdb::GetRocksVersionAsString()},
      {"file", file.path()},
      {"file_bytes", file.bytes()},
      {"format_version", file.footer().format_version},
      {"keys", properties.entries},
      {"deletions", properties.deletions},
      {"column_family", TextOrNull(properties.column_family_name)},
      {"comparator", TextOrNull(properties.comparator_name)},
      {"filter_policy", TextOrNull(properties.filter_policy_name)},
      {"prefix_extractor", TextOrNull(properties.prefix_extractor_name)},
      {"filters_whole_keys", properties.whole_keys_filtered},
      {"filters_prefixes",
       properties.prefixes_filtered && !properties.prefix_extractor_name.empty()},
      {"ok", filter.problems().empty()},
      {"layout", LayoutName(filter.layout())},
      {"stored_as", TextOrNull(filter.stored_name())},
      {"offset", exists ? Json(filter.top().offset) : Json(nullptr)},
      {"filter_bytes", filter.bytes()},
      {"filter_keys", filter.entries()},
      {"bits_per_key", inspection.BitsPerEntry()},
      {"family", filter.Family()},
      {"parameters", TextOrNull(filter.Parameters())},
      {"predicted_false_positive_rate", exists ? Rate(inspection.predicted_rate) : Json(nullptr)},
      {"probed_false_positive_rate", Rate(inspection.probed_rate)},
      {"probes", inspection.probes},
      {"blocks", Json::array()},
      {"problems", filter.problems()},
      {"remedy", filter.problems().empty() ? Json(nullptr) : Json(kDamageRemedy)}};
  for (size_t i = 0; i < filter.blocks().size(); i++) {
    json["blocks"].push_back(Block(*filter.blocks()[i], inspection.blocks[i],
                                   filter.layout() == FilterLayout::kPartitioned, hex));
  }
  // Names may be no UTF-8, which JSON cannot hold.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
