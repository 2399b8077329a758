#include "plugin/join/sst_filters.h"
#include "plugin/tables/decoded_filter.h"

namespace rocksieve::join {
namespace {

class BuiltinFilter final : public KeyFilter {
 public:
  explicit BuiltinFilter(DecodedFilter filter) : filter_(std::move(filter)) {}
  bool MayContain(std::string_view key) const override { return filter_.MayContain(key); }

 private:
  const DecodedFilter filter_;
};

}  // namespace

std::unique_ptr<KeyFilter> DecodeBuiltinFilter(std::string_view block) {
  DecodedFilter filter = DecodedFilter::Decode(block, kBuiltinStoredName);
  switch (filter.kind) {
    case BlockKind::kRocksDb:
    case BlockKind::kEmpty:
      return std::make_unique<BuiltinFilter>(std::move(filter));
    default:
      return nullptr;
  }
}

}  // namespace rocksieve::join
