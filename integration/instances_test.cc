// Other ways to get at a database: read-only and secondary instances, and files that were written
// outside of it.
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include "integration/database.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 10000, kFiles = 3;

class Instances : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  // A policy of its own each time, as another process would have.
  DbConfig Config() const {
    DbConfig config(std::get<0>(GetParam()));
    if (std::get<1>(GetParam())) config.Partitioned(1024);
    return config;
  }
  void ExpectFiltered(rocksdb::DB* db, uint64_t files) const {
    EXPECT_GT(LookUp(db, missing_).filters_rejected, files * missing_.size() * 95 / 100);
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "db";
  const std::vector<std::string> missing_ = MissingKeys(3000);
};

TEST_P(Instances, ReadOnlyBesideTheOneThatWrites) {
  const DbPtr primary = Open(Config().Build(), path_);
  const Oracle oracle = WriteOverlappingFiles(primary.get(), kKeys, kFiles);
  const DbPtr reader = OpenReadOnly(Config().Build(), path_);
  Must(primary->Put(rocksdb::WriteOptions(), "later", "not for the reader"));
  Compact(primary.get());  // the files that the reader has open are deleted
  ExpectHolds(reader.get(), oracle, missing_);
  ExpectFiltered(reader.get(), kFiles);
}

TEST_P(Instances, SecondaryCatchesUp) {
  const DbPtr primary = Open(Config().Build(), path_);
  Oracle oracle = WriteOverlappingFiles(primary.get(), kKeys, kFiles);
  DbConfig config = Config();
  const PolicyPtr policy = config.table.filter_policy;
  config.options.max_open_files = -1;
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::OpenAsSecondary(config.Build(), path_, directory_ / "secondary", &opened));
  const DbPtr secondary(opened);
  ExpectHolds(secondary.get(), oracle, missing_);
  ExpectFiltered(secondary.get(), kFiles);

  for (uint64_t round = 1; round <= 3; round++) {
    SCOPED_TRACE(round);
    const uint64_t filters_before = StatsOf(policy).filters_opened;
    for (uint64_t i = round; i < kKeys; i += 7) {
      if (i % 2 == 0) {
        Must(primary->Delete(rocksdb::WriteOptions(), PresentKey(i)));
        oracle.erase(PresentKey(i));
      } else {
        oracle[PresentKey(kKeys + i)] = std::to_string(round);
        Must(primary->Put(rocksdb::WriteOptions(), PresentKey(kKeys + i), std::to_string(round)));
      }
    }
    Flush(primary.get());
    if (round == 2) Compact(primary.get());
    Must(secondary->TryCatchUpWithPrimary());
    ExpectHolds(secondary.get(), oracle, missing_);
    ExpectFiltered(secondary.get(), 1);
    EXPECT_GT(StatsOf(policy).filters_opened, filters_before);
  }
}

TEST_P(Instances, FilesFromOutsideAreIngestedWithTheirFilters) {
  const DbConfig writer_config = Config();
  Oracle oracle;
  std::vector<std::string> files;
  for (uint64_t file = 0; file < kFiles; file++) {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), writer_config.Build());
    files.push_back(directory_ / (std::to_string(file) + ".sst"));
    Must(writer.Open(files.back()));
    for (uint64_t i = file * kKeys; i < (file + 1) * kKeys; i++) {
      const std::string key = PresentKey(i), value = "ingested " + key;
      oracle[key] = value;
      Must(writer.Put(key, value));
    }
    Must(writer.Finish());
    Must(rocksdb::SstFileReader(writer_config.Build()).Open(files.back()));
  }
  EXPECT_EQ(StatsOf(writer_config.table.filter_policy).keys_added, kFiles * kKeys);

  const DbConfig config = Config();
  const DbPtr db = Open(config.Build(), path_);
  for (uint64_t i = 0; i < kKeys; i += 3) {  // older versions of some keys, and one deleted later
    Must(db->Put(rocksdb::WriteOptions(), PresentKey(i), "older"));
  }
  Must(db->IngestExternalFile(files, rocksdb::IngestExternalFileOptions()));
  Must(db->Delete(rocksdb::WriteOptions(), PresentKey(7)));
  oracle.erase(PresentKey(7));
  Flush(db.get());
  ExpectHolds(db.get(), oracle, missing_);
  ExpectFiltered(db.get(), 1);
  EXPECT_GE(StatsOf(config.table.filter_policy).filters_opened, kFiles);
}

// A policy may be shared by databases, and outlive all of them.
TEST_P(Instances, DatabasesThatShareAPolicy) {
  const DbConfig config = Config();
  Oracle oracle;
  for (const char* name : {"first", "second"}) {
    const DbPtr db = Open(config.Build(), directory_ / name);
    oracle = WriteOverlappingFiles(db.get(), kKeys / 10, 1);
    ExpectHolds(db.get(), oracle, missing_);
  }
  const DbPtr first = Open(config.Build(), directory_ / "first");
  const DbPtr second = Open(config.Build(), directory_ / "second");
  ExpectHolds(first.get(), oracle, missing_);
  ExpectHolds(second.get(), oracle, missing_);
  EXPECT_EQ(StatsOf(config.table.filter_policy).keys_added, 2 * oracle.size());
}

std::string InstancesName(const testing::TestParamInfo<std::tuple<const char*, bool>>& info) {
  const std::string spec = std::get<0>(info.param);
  return std::string(spec.find("bloom") != std::string::npos ? "Bloom" : "Cuckoo") +
         (std::get<1>(info.param) ? "Partitioned" : "Full");
}

INSTANTIATE_TEST_SUITE_P(All, Instances,
                         testing::Combine(testing::Values("rocksieve.bloom:10",
                                                          "rocksieve.cuckoo:12.5"),
                                          testing::Bool()),
                         InstancesName);

}  // namespace
}  // namespace rocksieve
