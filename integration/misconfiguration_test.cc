// SPDX-License-Identifier: Apache-2.0
// A spec that cannot be honoured is an error on every way into RocksDB. Without care it would not
// be: RocksDB's option parser swallows the errors of filter policies, and works on without a
// filter.
#include <gmock/gmock.h>
#include <rocksdb/c.h>
#include <rocksdb/convenience.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/options_util.h>

#include "integration/sst_file.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

// Specs that cannot be honoured, and what the error about each must say.
struct Mistake {
  std::string spec;
  std::string offending;  // what the message must quote
};

const std::vector<Mistake>& Mistakes() {
  static const std::vector<Mistake> mistakes = {
      {"rocksieve", "\"rocksieve\""},
      {"rocksieve.", "\"\""},
      {"rocksive.bloom:10", "\"rocksive.bloom:10\""},
      {"rockseive.ribbon:10", "\"rockseive.ribbon:10\""},
      {"rocksievve.auto:10", "\"rocksievve.auto:10\""},
      {"ocksieve.bloom:10", "\"ocksieve.bloom:10\""},
      {"bloom:10", "\"bloom:10\""},
      {"ribbon:0.1%:salted", "\"ribbon:0.1%:salted\""},
      {"rocksieve.bloom", "\"\""},
      {"rocksieve.bloom:", "\"\""},
      {"rocksieve:10", "\"rocksieve:10\""},
      {"rocksieve.:10", "\"\""},
      {"rocksieve.blom:10", "\"blom\""},
      {"rocksieve.bloomfilter:10", "\"bloomfilter\""},
      {"rocksieve_bloom:10", "\"rocksieve_bloom:10\""},
      {"rocksieve..bloom:10", "\".bloom\""},
      {"rocksieve.10", "\"10\""},
      {"rocksieve.bloom::10", "\"\""},
      {"rocksieve.bloom:10:", "\"\""},
      {"rocksieve.bloom:10::salted", "\"\""},
      {"rocksieve.bloom:10:salted:", "\"\""},
      {"rocksieve.bloom:10:salt", "\"salt\""},
      {"rocksieve.bloom:0", "\"0\""},
      {"rocksieve.bloom:60%", "\"60%\""},
      {"rocksieve.bloom: 10", "\" 10\""},
      {"rocksieve.bloom:10 :salted", "\"10 \""},
      {"rocksieve.bloom:1 0", "\"1 0\""},
      {"rocksieve. bloom:10", "\" bloom\""},
      {"rocksieve .bloom:10", "\"rocksieve .bloom:10\""},
      {"rocksieve.bloom:" + std::string(5000, '9'), "\"9999999999"},
      {"rocksieve." + std::string(5000, 'b') + ":10", "\"bbbbbbbbbb"},
      {"rocksieve.bloom:10:" + std::string(5000, 's'), "\"ssssssssss"},
  };
  return mistakes;
}

// An error that helps: what was wrong, what is allowed, and an example.
void ExpectHelps(const rocksdb::Status& status, const Mistake& mistake, const char* way) {
  SCOPED_TRACE(std::string(way) + ": " + mistake.spec.substr(0, 60));
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  const std::string text = status.ToString();
  EXPECT_NE(text.find(mistake.offending), std::string::npos) << text;
  EXPECT_NE(text.find("for example rocksieve."), std::string::npos) << text;
  EXPECT_LT(text.size(), 600u) << text;
}

// Without a database of its own: most ways fail before they make one.
Status TryOpen(const rocksdb::Options& options, const std::string& path) {
  DbPtr db;
  return rocksdb::DB::Open(options, path, Into(&db));
}

rocksdb::Options QuietOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = UnsyncedEnv();
  options.info_log = std::make_shared<QuietLogger>();
  return options;
}

class Misconfiguration : public testing::Test {
 protected:
  // A database that is there, and keeps working.
  void SetUp() override {
    DbConfig config("rocksieve.bloom:10");
    oracle_ = WriteOverlappingFiles(Open(config.Build(), path_).get(), 100, 1);
  }
  void TearDown() override {
    const DbPtr db = Open(DbConfig("rocksieve.bloom:10").Build(), path_);
    ExpectHolds(db.get(), oracle_);
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "db";
  Oracle oracle_;
};

TEST_F(Misconfiguration, ThroughNewFilterPolicy) {
  const PolicyPtr before = PolicyFor("rocksieve.bloom:10");
  std::vector<Mistake> mistakes = Mistakes();
  // What an option string cannot carry, but a caller can.
  using namespace std::string_literals;
  mistakes.push_back({"", "\"\""});
  mistakes.push_back({"rocksift.bloom:10", "\"rocksift.bloom:10\""});
  mistakes.push_back({" rocksieve.bloom:10", "\" rocksieve.bloom:10\""});
  mistakes.push_back({"rocksieve.bloom:10 ", "\"10 \""});
  mistakes.push_back({"rocksieve.bloom:10\n", "\"10\n\""});
  mistakes.push_back({"rocksieve.bloom:10;x=1", "\"10;x=1\""});
  mistakes.push_back({"{id=rocksieve.bloom:10}", "\"{id=rocksieve.bloom"});
  for (const Mistake& mistake : mistakes) {
    PolicyPtr policy = before;
    ExpectHelps(NewFilterPolicy(mistake.spec, &policy), mistake, "NewFilterPolicy");
    EXPECT_EQ(policy, before);
  }
  for (const std::string& spec : {"\0rocksieve.bloom:10"s, "rocksieve.bloom\0:10"s,
                                  "rocksieve.bloom:10\0"s, "rocksieve.bloom:10:salted\0"s}) {
    PolicyPtr policy = before;
    EXPECT_TRUE(NewFilterPolicy(spec, &policy).IsInvalidArgument());
    EXPECT_EQ(policy, before);
  }
}

TEST_F(Misconfiguration, ThroughOptionStrings) {
  for (const Mistake& mistake : Mistakes()) {
    rocksdb::Options options;
    Status status = rocksdb::GetOptionsFromString(
        rocksdb::ConfigOptions(), QuietOptions(),
        "block_based_table_factory={filter_policy=" + mistake.spec + "}", &options);
    if (status.ok()) status = TryOpen(options, path_);
    ExpectHelps(status, mistake, "GetOptionsFromString");
  }
}

TEST_F(Misconfiguration, ThroughTableOptionStrings) {
  for (const Mistake& mistake : Mistakes()) {
    // Not prepared, as by the overload without ConfigOptions, which 8.0 dropped.
    for (const bool prepared : {false, true}) {
      rocksdb::BlockBasedTableOptions table;
      rocksdb::ConfigOptions config;
      config.input_strings_escaped = config.invoke_prepare_options = prepared;
      Status status = rocksdb::GetBlockBasedTableOptionsFromString(
          config, rocksdb::BlockBasedTableOptions(), "filter_policy=" + mistake.spec, &table);
      rocksdb::Options options = QuietOptions();
      options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
      if (status.ok()) status = TryOpen(options, path_);
      ExpectHelps(status, mistake, "GetBlockBasedTableOptionsFromString");
    }
  }
}

// Somebody edits the OPTIONS file.
TEST_F(Misconfiguration, ThroughOptionsFiles) {
  DbConfig config("rocksieve.bloom:12.25");
  Open(config.Build(), directory_ / "edited").reset();
  std::string name;
  Must(rocksdb::GetLatestOptionsFileName(directory_ / "edited", rocksdb::Env::Default(), &name));
  const std::string file = directory_ / ("edited/" + name);
  const std::string text = ReadBytes(file);
  const std::string right = "filter_policy=rocksieve.bloom:12.25";
  const size_t at = text.find(right);
  ASSERT_NE(at, std::string::npos) << text;
  for (const Mistake& mistake : Mistakes()) {
    std::string edited = text;
    WriteBytes(file, edited.replace(at, right.size(), "filter_policy=" + mistake.spec));
    for (const bool latest : {false, true}) {
      rocksdb::DBOptions db_options;
      std::vector<rocksdb::ColumnFamilyDescriptor> families;
      Status status =
          latest ? rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), directory_ / "edited",
                                              &db_options, &families)
                 : rocksdb::LoadOptionsFromFile(rocksdb::ConfigOptions(), file, &db_options,
                                                &families);
      db_options.info_log = std::make_shared<QuietLogger>();
      if (status.ok()) status = TryOpen({db_options, families.at(0).options}, path_);
      ExpectHelps(status, mistake, latest ? "LoadLatestOptions" : "LoadOptionsFromFile");
    }
  }
}

TEST_F(Misconfiguration, ThroughTheCInterface) {
  for (const Mistake& mistake : Mistakes()) {
    rocksdb_options_t* base = rocksdb_options_create();
    rocksdb_options_t* options = rocksdb_options_create();
    char* error = nullptr;
    const std::string text = "block_based_table_factory={filter_policy=" + mistake.spec + "}";
    rocksdb_get_options_from_string(base, text.c_str(), options, &error);
    if (error == nullptr) {
      rocksdb_t* db = rocksdb_open(options, path_.c_str(), &error);
      if (db != nullptr) rocksdb_close(db);
    }
    // The C interface has no codes, only text.
    const std::string message = error == nullptr ? "" : error;
    EXPECT_EQ(message.substr(0, 16), "Invalid argument");
    ExpectHelps(message.empty() ? Status::OK() : Status::InvalidArgument(message), mistake, "C");
    rocksdb_free(error);
    rocksdb_options_destroy(options);
    rocksdb_options_destroy(base);
  }
}

rocksdb::Options OptionsWith(const std::string& filter_policy) {
  rocksdb::Options options;
  Must(rocksdb::GetOptionsFromString(
      rocksdb::ConfigOptions(), QuietOptions(),
      "block_based_table_factory={filter_policy=" + filter_policy + "}", &options));
  return options;
}

const Mistake kTypo = {"rocksieve.blom:10", "\"blom\""};

TEST_F(Misconfiguration, OfOneColumnFamilyAmongRightOnes) {
  rocksdb::Options creating = QuietOptions();
  creating.create_missing_column_families = true;
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {"default", OptionsWith("rocksieve.bloom:10")}, {"other", OptionsWith(kTypo.spec)}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  DbPtr db;
  ExpectHelps(rocksdb::DB::Open(creating, path_, families, &handles, Into(&db)), kTypo, "families");
}

// RocksDB 7.8 asks nobody whether these options can be honoured. Those who only read are served by
// the filters that are there, so a wrong spec costs them nothing.
TEST_F(Misconfiguration, OfReadersIsHarmless) {
  const rocksdb::Options options = OptionsWith(kTypo.spec);
  DbPtr secondary;
  Must(rocksdb::DB::OpenAsSecondary(options, path_, directory_ / "secondary", Into(&secondary)));
  const DbPtr reader = OpenReadOnly(options, path_);
  for (rocksdb::DB* db : {reader.get(), secondary.get()}) {
    ExpectHolds(db, oracle_, MissingKeys(100));
    EXPECT_GT(LookUp(db, MissingKeys(100)).filters_rejected, 80u);
  }
}

// Nor here; so files get RocksDB's own filters, and stderr, the log and the options file say so.
// Nor does SetOptions() of RocksDB 9.8 and later: later_releases_test.cc.
TEST_F(Misconfiguration, OfANewColumnFamilyLeavesItWithRocksDbsFilters) {
  for (const std::string& spec : {kTypo.spec, std::string("{id=rocksieve.bloom:10;x=1}")}) {
    SCOPED_TRACE(spec);
    const std::string path = directory_ / "family";
    rocksdb::Options base = OptionsWith("rocksieve.bloom:10");
    base.info_log.reset();
    const rocksdb::Options wrong = OptionsWith(spec);
    testing::internal::CaptureStderr();
    {
      const DbPtr db = Open(base, path);
      rocksdb::ColumnFamilyHandle* handle = nullptr;
      Must(db->CreateColumnFamily(wrong, "other", &handle));
      for (const auto& [key, value] : oracle_) {
        Must(db->Put(rocksdb::WriteOptions(), handle, key, value));
      }
      Must(db->Flush(rocksdb::FlushOptions(), handle));
      rocksdb::TablePropertiesCollection tables;
      Must(db->GetPropertiesOfAllTables(handle, &tables));
      ASSERT_EQ(tables.size(), 1u);
      EXPECT_EQ(tables.begin()->second->filter_policy_name, "bloomfilter");
      EXPECT_EQ(tables.begin()->second->num_filter_entries, oracle_.size());
      delete handle;
    }
    const std::string offending = spec == kTypo.spec ? kTypo.offending : "\"x=1\"";
    for (const std::string& told :
         {testing::internal::GetCapturedStderr(), ReadBytes(path + "/LOG")}) {
      EXPECT_THAT(told, testing::ContainsRegex("a wrong filter_policy was taken.*" + offending));
    }
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    Must(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &db_options, &families));
    const auto* table =
        families.back().options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    EXPECT_EQ(table->filter_policy->GetId(), "bloomfilter:10:false");
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    DbPtr db;
    families = {{"default", base}, {"other", wrong}};
    ExpectHelps(rocksdb::DB::Open(base, path, families, &handles, Into(&db)), {spec, offending},
                "again");
    Must(rocksdb::DestroyDB(path, base, families));
  }
}

// RocksDB takes back what was asked for, without a word.
TEST_F(Misconfiguration, OfPartitionsIsTold) {
  for (const bool with_index : {false, true}) {
    DbConfig config("rocksieve.bloom:10");
    config.Partitioned(512);
    if (!with_index) config.table.index_type = rocksdb::BlockBasedTableOptions::kBinarySearch;
    rocksdb::Options options = config.Build();
    options.info_log.reset();
    const std::string path = directory_ / ("partitions" + std::to_string(with_index));
    WriteOverlappingFiles(Open(options, path).get(), 1000, 2);
    const std::string log = ReadBytes(path + "/LOG");
    EXPECT_EQ(log.find("rocksieve: filters are not partitioned") == std::string::npos, with_index);
  }
}

#if ROCKSIEVE_ROCKSDB < 90800
// And leaves the policy that the database uses alone: the next file has a filter again.
TEST_F(Misconfiguration, OfALiveDatabaseIsRefused) {
  DbConfig config("rocksieve.bloom:10");
  const DbPtr db = Open(config.Build(), path_);
  for (const std::string& spec :
       {kTypo.spec, std::string("rocksieve.bloom:11"), std::string("{x=1}")}) {
    EXPECT_FALSE(
        db->SetOptions({{"block_based_table_factory", "{filter_policy=" + spec + "}"}}).ok());
    const uint64_t built = StatsOf(config.table.filter_policy).filters_built;
    const auto& [key, value] = *oracle_.begin();
    Must(db->Put(rocksdb::WriteOptions(), key, value));
    Must(db->Flush(rocksdb::FlushOptions()));
    EXPECT_GT(StatsOf(config.table.filter_policy).filters_built, built) << spec;
  }
}
#endif

// "{id=SPEC;name=value}" sets properties, of which we have none.
TEST_F(Misconfiguration, Properties) {
  const std::pair<std::string, std::string> kCases[] = {
      {"{id=rocksieve.bloom:10;x=1}", "x"},
      {"{id=rocksieve.bloom:10;salted=true}", "salted"},
      {"{id=rocksieve.cuckoo:12.5;bits_per_key=10}", "bits_per_key"},
      {"{id=rocksieve.blom:10;x=1}", "blom"},
  };
  for (const auto& [filter_policy, offending] : kCases) {
    rocksdb::Options options;
    Status status = rocksdb::GetOptionsFromString(
        rocksdb::ConfigOptions(), QuietOptions(),
        "block_based_table_factory={filter_policy=" + filter_policy + "}", &options);
    if (status.ok()) status = TryOpen(options, path_);
    ExpectHelps(status, {filter_policy, "\"" + offending}, "properties");
  }
  // Without any, the braces say the same as the bare spec.
  ExpectHolds(Open(OptionsWith("{id=rocksieve.bloom:10}"), path_).get(), oracle_);
  ExpectHolds(Open(OptionsWith("{id=rocksieve.bloom:10;}"), path_).get(), oracle_);
}

// A right policy in the base options does not hide a wrong one in the string.
TEST_F(Misconfiguration, OnTopOfARightPolicy) {
  const rocksdb::Options base = OptionsWith("rocksieve.bloom:10");
  rocksdb::Options options;
  Status status = rocksdb::GetOptionsFromString(
      rocksdb::ConfigOptions(), base,
      "block_based_table_factory={filter_policy=" + kTypo.spec + "}", &options);
  if (status.ok()) status = TryOpen(options, directory_ / "new");
  ExpectHelps(status, kTypo, "on top of a right one");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "new"));
}

// Nobody validates the options of an SstFileWriter; at least it is said, once, and the file is a
// right one.
TEST_F(Misconfiguration, OfAnSstFileWriterIsTold) {
  testing::internal::CaptureStderr();
  rocksdb::Options options = OptionsWith(kTypo.spec);
  options.info_log.reset();
  Status status;
  for (const char* name : {"first.sst", "second.sst"}) {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
    status = writer.Open(directory_ / name);
    if (status.ok()) status = writer.Put("z key", "value");
    if (status.ok()) status = writer.Finish();
    if (!status.ok()) break;
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  Must(status);
  EXPECT_THAT(printed, testing::ContainsRegex("a wrong filter_policy was taken.*\"blom\""));
  EXPECT_EQ(printed.find("wrong"), printed.rfind("wrong")) << printed;
  const DbPtr db = Open(OptionsWith("rocksieve.bloom:10"), path_);
  Must(db->IngestExternalFile({directory_ / "first.sst"}, rocksdb::IngestExternalFileOptions()));
  oracle_["z key"] = "value";
}

}  // namespace
}  // namespace rocksieve
