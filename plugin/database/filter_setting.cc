#include "plugin/database/filter_setting.h"

#include "lib/bloom/reader.h"
#include "lib/cuckoo/reader.h"
#include "lib/ribbon/reader.h"

namespace rocksieve {
namespace {

FilterSetting OurSetting(const FilterBlockInfo& info) {
  switch (info.family) {
    case Family::kBloom:
      return {"probes", static_cast<double>(bloom::ProbesOf(info))};
    case Family::kCuckoo: {
      cuckoo::Table table;
      if (!cuckoo::ParseTable(info, &table)) return {};
      const auto slots = static_cast<double>(table.Offset(table.shards));
      const auto narrow = static_cast<double>(table.first_wide_slot);
      const double wide_share = slots > narrow ? (slots - narrow) / slots : 0;
      return {"fingerprint bits", table.fingerprint_bits + wide_share};
    }
    case Family::kRibbon: {
      ribbon::Table table;
      if (ribbon::FormOf(info) != ribbon::Form::kGeneral || !ribbon::ParseTable(info, &table)) {
        return {"columns", static_cast<double>(ribbon::ColumnsOf(info.parameter))};
      }
      const ribbon::Width width = ribbon::WidthOf(table);
      return {"columns", width.columns + width.wide_share};
    }
  }
  return {};
}

}  // namespace

FilterSetting SettingOf(const DecodedFilter& filter) {
  switch (filter.kind) {
    case BlockKind::kOurs:
      return OurSetting(filter.info);
    case BlockKind::kBuiltinBloom:
    case BlockKind::kLegacyBloom:
      return {"probes", static_cast<double>(filter.probes)};
    case BlockKind::kBuiltinRibbon:
      return {"columns", filter.columns - static_cast<double>(filter.blocks_with_fewer_columns) /
                                              static_cast<double>(filter.ribbon_blocks)};
    default:
      return {};
  }
}

}  // namespace rocksieve
