// No key is lost, whatever rocksieve.auto decides.
#include <rocksdb/slice_transform.h>

#include "integration/tree.h"

namespace rocksieve {
namespace {

class Exactness : public testing::TestWithParam<const char*> {};

TEST_P(Exactness, OfATreeThatChanges) {
  for (const bool partitioned : {false, true}) {
    SCOPED_TRACE(partitioned);
    const TemporaryDirectory directory;
    TreeConfig config(GetParam(), /*listener=*/partitioned, 4);
    config.db.options.max_bytes_for_level_base = 20 << 10;
    config.db.options.target_file_size_base = 20 << 10;
    config.db.options.max_subcompactions = 2;
    config.db.table.optimize_filters_for_memory = true;
    config.db.table.detect_filter_construct_corruption = true;
    config.db.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
    if (partitioned) config.db.Partitioned(512);
    DbPtr db = Open(config.db.Build(), directory / "db");
    Random random = SeededRandom(17);
    Oracle oracle;
    const rocksdb::Snapshot* snapshot = nullptr;
    Oracle at_snapshot;
    for (int i = 0; i < 24000; i++) {
      const std::string key = ScatteredKey(2 * (random() % 6000));
      if (random() % 5 == 0) {
        Must(db->Delete(rocksdb::WriteOptions(), key));
        oracle.erase(key);
      } else {
        const std::string value = std::to_string(i);
        Must(db->Put(rocksdb::WriteOptions(), key, value));
        oracle[key] = value;
      }
      if (i % 600 == 599) Flush(db.get());
      if (i == 9000) {
        snapshot = db->GetSnapshot();  // from here on, files hold several versions of a key
        at_snapshot = oracle;
      }
    }
    const std::vector<std::string> missing = {"", "0", ScatteredKey(1), ScatteredKey(9999), "zzz"};
    ExpectHolds(db.get(), oracle, missing);
    ExpectHolds(db.get(), at_snapshot, missing, snapshot);
    db->ReleaseSnapshot(snapshot);
    Compact(db.get());
    ExpectHolds(db.get(), oracle, missing);
    db.reset();
    // RocksDB alone finds all of it too.
    config.db.table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    config.db.options.listeners.clear();
    db = Open(config.db.Build(), directory / "db");
    ExpectHolds(db.get(), oracle, missing);
  }
}

std::string SpecName(const testing::TestParamInfo<const char*>& tested) {
  std::string name(tested.param);
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
}

// Budgets at which some files have no filter at all, and such that no family can use up.
INSTANTIATE_TEST_SUITE_P(Specs, Exactness,
                         testing::Values("rocksieve.auto:1", "rocksieve.auto:1.7",
                                         "rocksieve.auto:10:verified:salted", "rocksieve.auto:32",
                                         "rocksieve.auto:6:bloom+cuckoo:thorough",
                                         "rocksieve.auto:10:read-ns-1:own-name",
                                         "rocksieve.auto:3:cuckoo"),
                         SpecName);

}  // namespace
}  // namespace rocksieve
