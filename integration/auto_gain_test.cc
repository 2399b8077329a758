// rocksieve.auto reads less than uniform filters of the same memory, on a small tree. The table of
// gains is ./run bench auto.
#include "integration/tree.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 80000;

std::vector<std::string> Keys(uint64_t count, uint64_t offset) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < count; i++) keys.push_back(ScatteredKey(2 * i + offset));
  return keys;
}

struct Outcome {
  double bits = 0, missing = 0, present = 0;
};

Outcome Measure(const PolicyPtr& policy, bool listener, int ratio) {
  const TemporaryDirectory directory;
  TreeConfig config("rocksieve.auto:10", listener, ratio);
  config.db.table.filter_policy = policy;
  config.db.table.block_cache = rocksdb::NewLRUCache(256 << 20);
  config.db.options.max_bytes_for_level_base = 40 << 10;
  config.db.options.target_file_size_base = 40 << 10;
  config.db.options.target_file_size_multiplier = 2;
  const DbPtr db = Open(config.db.Build(), directory / "db");
  for (uint64_t i = 0; i < kKeys; i++) {
    Must(db->Put(rocksdb::WriteOptions(), ScatteredKey(2 * i), std::string(24, 'v')));
    if (i % 1000 != 999) continue;
    Flush(db.get());
    WaitForCompactions(db.get());
  }
  Outcome outcome;
  outcome.bits = MemoryOf(db.get()).bits();
  const LookupCost missing = LookUp(db.get(), Keys(kKeys, 1));
  EXPECT_EQ(missing.found, 0u);
  outcome.missing = static_cast<double>(missing.data_block_reads) / kKeys;
  const LookupCost present = LookUp(db.get(), Keys(kKeys, 0));
  EXPECT_EQ(present.found, kKeys);
  outcome.present = static_cast<double>(present.data_block_reads) / kKeys - 1;
  std::printf("%-24s %6.2f bits; useless reads per 1000: %7.3f missing, %7.3f present; %s\n",
              policy->GetId().c_str(), outcome.bits, 1000 * outcome.missing, 1000 * outcome.present,
              ShapeOf(db.get()).c_str());
  return outcome;
}

TEST(Gain, OverUniformFilters) {
  for (const int ratio : {4, 10}) {
    const Outcome bloom = Measure(PolicyPtr(rocksdb::NewBloomFilterPolicy(10)), false, ratio);
    // Some 10 bits, in reality.
    const Outcome ribbon =
        Measure(PolicyPtr(rocksdb::NewRibbonFilterPolicy(14.6, -1)), false, ratio);
    for (const bool listener : {true, false}) {
      const Outcome automatic = Measure(PolicyFor("rocksieve.auto:10"), listener, ratio);
      EXPECT_LT(automatic.bits, ribbon.bits * 1.05);
      EXPECT_LT(automatic.missing, 0.15 * bloom.missing);
      EXPECT_LT(automatic.missing, 0.85 * ribbon.missing);
      EXPECT_LT(automatic.present, 0.15 * bloom.present);
    }
  }
}

}  // namespace
}  // namespace rocksieve
