// SPDX-License-Identifier: Apache-2.0
// Filters of SST files as the first move of a join, held against what the databases show.
#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/convenience.h>

#include "integration/join_support.h"
#include "lib/join/existing/existing_filters.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/join/sst_filters.h"
#include "plugin/tables/table_file.h"

namespace rocksieve::join {
namespace {

struct Variant {
  std::string name;
  rocksdb::Options options;
  bool has_filters = true;
};

std::vector<Variant> AllVariants() {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& name, DbConfig config, bool has_filters = true) {
    rocksdb::Options options = config.Build();
    options.merge_operator = Appending();
    variants.push_back({name, options, has_filters});
  };
  for (const char* spec :
       {"rocksieve.bloom:10", "rocksieve.ribbon:10", "rocksieve.cuckoo:12", "rocksieve.auto:10"}) {
    add(spec, DbConfig(spec));
    add(spec + std::string(" partitioned"), DbConfig(spec).Partitioned(800));
  }
  const auto builtin = [](const rocksdb::FilterPolicy* policy) {
    return DbConfig(PolicyPtr(policy));
  };
  add("Bloom", builtin(rocksdb::NewBloomFilterPolicy(10)));
  add("Ribbon", builtin(rocksdb::NewRibbonFilterPolicy(10, /*bloom_before_level=*/-1)));
  add("Bloom partitioned", builtin(rocksdb::NewBloomFilterPolicy(10)).Partitioned(300));
  DbConfig legacy = builtin(rocksdb::NewBloomFilterPolicy(10));
  legacy.table.format_version = 4;
  add("Bloom of format 4", legacy);
  DbConfig both("rocksieve.bloom:10");
  both.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
  add("whole keys and prefixes", both);
  add("no filter", DbConfig(PolicyPtr()), false);
  both.table.whole_key_filtering = false;
  add("prefixes only", both, false);
  DbConfig hits("rocksieve.bloom:10");
  hits.options.optimize_filters_for_hits = true;
  add("optimize_filters_for_hits", hits);
  return variants;
}

std::vector<std::string> KeysShownBy(Source* source, const KeyInterval& interval = {}) {
  std::vector<std::string> keys;
  const std::unique_ptr<Cursor> cursor = source->Scan(interval);
  Row row;
  while (cursor->Next(&row)) keys.emplace_back(row.key);
  Must(cursor->status());
  return keys;
}

// False if the source has no filters.
bool Load(Source* source, ExistingFilterSet* set, const KeyInterval& interval = {}) {
  const std::unique_ptr<ExistingFilterReader> reader = source->ExistingFilters(interval);
  if (reader == nullptr) return false;
  ExistingFilter filter;
  while (reader->Next(&filter)) EXPECT_TRUE(set->Add(std::move(filter))) << "fences fall";
  EXPECT_FALSE(reader->failed());
  set->Complete();
  return true;
}

void ExpectCovers(const ExistingFilterSet& set, const std::vector<std::string>& keys) {
  ExistingFilterSet::Sweep sweep(set);
  for (const std::string& key : keys) {
    ASSERT_TRUE(sweep.MayContain(key)) << "lost: " << testing::PrintToString(key);
  }
}

class SstFilters : public testing::Test {};

TEST_F(SstFilters, PassEveryKeyThatIsThere) {
  Random random = SeededRandom(1);
  for (const Variant& variant : AllVariants()) {
    SCOPED_TRACE(variant.name);
    TemporaryDirectory directory;
    const DbPtr db = Open(variant.options, directory / "db");
    Model model;
    for (int part = 0; part < 5; part++) {
      WriteAtRandom(db.get(), db->DefaultColumnFamily(), 400, random, &model);
      const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
      Must(source.status());
      const std::vector<std::string> keys = KeysShownBy(source->get());
      ASSERT_EQ(keys.size(), model.size());
      ExistingFilterSet set(DecodeBuiltinFilter);
      ASSERT_TRUE(Load(source->get(), &set));
      ExpectCovers(set, keys);
      for (int i = 0; i < 10; i++) {
        KeyInterval interval{RandomKey(random), std::nullopt};
        if (i % 3 != 0) interval.end = RandomKey(random);
        if (interval.end && *interval.end < interval.begin) continue;
        ExistingFilterSet part_of_set(DecodeBuiltinFilter);
        ASSERT_TRUE(Load(source->get(), &part_of_set, interval));
        ExpectCovers(part_of_set, KeysShownBy(source->get(), interval));
      }
    }
  }
}

TEST_F(SstFilters, DenyOthersAtTheRateTheyOffer) {
  constexpr uint64_t kKeys = 20000;
  for (const Variant& variant : AllVariants()) {
    SCOPED_TRACE(variant.name);
    TemporaryDirectory directory;
    const DbPtr db = Open(variant.options, directory / "db");
    WriteOverlappingFiles(db.get(), kKeys, 2);
    // In the memtable only.
    for (uint64_t i = kKeys; i < kKeys + 100; i++) {
      Must(db->Put(rocksdb::WriteOptions(), PresentKey(i), ""));
    }
    const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
    Must(source.status());
    const ExistingFilterOffer offer = (*source)->ExistingFilters({})->Offer();
    ExistingFilterSet set(DecodeBuiltinFilter);
    ASSERT_TRUE(Load(source->get(), &set));
    ExpectCovers(set, KeysShownBy(source->get()));
    ExistingFilterSet::Sweep sweep(set);
    uint64_t passed = 0;
    for (uint64_t i = 0; i < kKeys + 99; i++) passed += sweep.MayContain(MissingKey(i));
    const double rate = static_cast<double>(passed) / kKeys;
    EXPECT_EQ(offer.exists(), variant.has_filters);
    if (!variant.has_filters) {
      EXPECT_GT(rate, 0.99);
      continue;
    }
    EXPECT_LT(rate, 0.1);
    // Nobody knows what `auto` gave to each partition.
    const double tolerance = variant.name.find("auto") != std::string::npos ? 3 : 1.5;
    EXPECT_NEAR(std::log2(rate + 1e-4), std::log2(offer.pass_rate + 1e-4), tolerance);
    EXPECT_NEAR(static_cast<double>(offer.bytes), static_cast<double>(set.bytes()),
                0.2 * static_cast<double>(set.bytes()) + 256.0 * static_cast<double>(set.size()));
    if (variant.name.find("partitioned") != std::string::npos) {
      EXPECT_GT(set.size(), 15u);
    }
  }
}

// The writer flushes, compacts and drops files all the time. A key that the source shows and its
// filters do not is what must never be.
TEST_F(SstFilters, AreThoseOfTheStateWhateverIsWritten) {
  TemporaryDirectory directory;
  rocksdb::Options options = OptionsOf();
  options.disable_auto_compactions = false;
  options.level0_file_num_compaction_trigger = 2;
  options.write_buffer_size = 64 << 10;
  const DbPtr db = Open(options, directory / "db");
  rocksdb::ColumnFamilyHandle* const family = db->DefaultColumnFamily();
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> rounds = 0;
  std::thread writer([&] {
    Random random(2);
    Model unused;
    while (!stop) {
      WriteAtRandom(db.get(), family, 50, random, &unused);
      if (random() % 8 == 0) {
        std::string begin = RandomKey(random), end = RandomKey(random);
        if (end < begin) std::swap(begin, end);
        const rocksdb::Slice from(begin), to(end);
        Must(rocksdb::DeleteFilesInRange(db.get(), family, &from, &to));
      }
      rounds++;
    }
  });
  int loaded = 0;
  for (int i = 0; i < 150; i++) {
    const auto source = RocksDbSource::Open(db.get(), family);
    Must(source.status());
    // Let it write, now and then, before the filters are read.
    for (const uint64_t seen = rounds; i % 5 == 0 && rounds < seen + 3;) std::this_thread::yield();
    ExistingFilterSet set(DecodeBuiltinFilter);
    if (!Load(source->get(), &set)) continue;
    loaded++;
    ExpectCovers(set, KeysShownBy(source->get()));
    if (testing::Test::HasFatalFailure()) break;
  }
  stop = true;
  writer.join();
  EXPECT_GT(loaded, 50);
}

TEST_F(SstFilters, OfAReadOnlySnapshotHaveWhatItsLogsHave) {
  TemporaryDirectory directory;
  const DbPtr db = Open(OptionsOf(), directory / "db");
  Random random = SeededRandom(3);
  Model model;
  WriteAtRandom(db.get(), db->DefaultColumnFamily(), 2000, random, &model);
  Flush(db.get());
  for (int i = 0; i < 300; i++) {
    const std::string key = RandomKey(random) + "late";
    Must(db->Put(rocksdb::WriteOptions(), key, "v"));
    model[key] = "v";
  }
  std::unique_ptr<ReadOnlySnapshot> view;
  Must(ReadOnlySnapshot::Open(directory / "db", "default", &view));
  WriteAtRandom(db.get(), db->DefaultColumnFamily(), 500, random, &model);
  Compact(db.get());  // deletes the files that the view holds
  const auto source = RocksDbSource::Open(view->db(), view->column_family());
  Must(source.status());
  ExistingFilterSet set(DecodeBuiltinFilter);
  ASSERT_TRUE(Load(source->get(), &set));
  const std::vector<std::string> keys = KeysShownBy(source->get());
  EXPECT_GT(keys.size(), 300u);
  ExpectCovers(set, keys);
}

// Bytes on the disk that changed: the file's checksum tells, and every key may be there.
TEST_F(SstFilters, DamagedOnesDenyNothing) {
  TemporaryDirectory directory;
  const DbPtr db = Open(DbConfig("rocksieve.bloom:10").Build(), directory / "db");
  const Oracle oracle = WriteOverlappingFiles(db.get(), 3000, 1);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  ASSERT_EQ(files.size(), 1u);
  const std::string path = files[0].db_path + files[0].name;
  std::unique_ptr<TableFile> table;
  FilterPlaces places;
  Must(TableFile::Open(rocksdb::Env::Default(), path, &table));
  Must(table->FindFilter(&places));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(places.top.offset + places.top.size / 2));
  file << std::string(64, '\0');
  file.close();
  const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
  Must(source.status());
  ExistingFilterSet set(DecodeBuiltinFilter);
  ASSERT_TRUE(Load(source->get(), &set));
  ExistingFilterSet::Sweep sweep(set);
  for (uint64_t i = 0; i < 2999; i++) ASSERT_TRUE(sweep.MayContain(MissingKey(i)));
}

// What comes from another node may be anything.
TEST_F(SstFilters, HostileBlocksDoNoHarm) {
  Random random = SeededRandom(5);
  int readable = 0;
  for (int round = 0; round < 20000; round++) {
    std::string block(random() % 400, '\0');
    for (char& byte : block) byte = static_cast<char>(random());
    const char markers[] = {-1, -2, static_cast<char>(1 + random() % 30),
                            static_cast<char>(random())};
    block += markers[random() % 4];
    // Counts that are small, or huge, or fit.
    for (int i = 0; i < 4; i++) {
      block += static_cast<char>(random() % 3 == 0 ? random() : random() % 9);
    }
    if (random() % 10 == 0) block.resize(random() % (block.size() + 1));
    const std::unique_ptr<KeyFilter> filter = DecodeBuiltinFilter(block);
    if (filter == nullptr) continue;
    readable++;
    for (int i = 0; i < 8; i++) filter->MayContain(RandomKey(random));
  }
  EXPECT_GT(readable, 1000);
}

}  // namespace
}  // namespace rocksieve::join
