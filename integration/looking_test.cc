// SPDX-License-Identifier: Apache-2.0
// `rocksieve explain` and `inspect` on databases of all kinds: they look, and leave no trace.
#include <filesystem>
#include <fstream>

#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env_encryption.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>

#include "integration/busy_owner.h"
#include "integration/command.h"
#include "integration/database.h"
#include "integration/tree.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::Test;

class Looking : public Test {
 protected:
  std::string Path() const { return directory_ / "db"; }

  Json Explain(const std::string& flags = "", int exit_code = 0) {
    const CommandResult result = RunCommand("explain --json --db=" + Path() + " " + flags);
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    return result.Json();
  }

  std::string ExplainFails(const std::string& flags = "") {
    const CommandResult result = RunCommand("explain --db=" + Path() + " " + flags);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    return result.output;
  }

  std::string SomeTable() const { return FirstTableIn(Path()); }

  static std::string FirstTableIn(const std::string& directory) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() == ".sst") return entry.path();
    }
    throw std::runtime_error("no table file");
  }

  TemporaryDirectory directory_;
};

void ExpectSays(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

double ReadsOf(const Json& family) {
  return family["expected_useless_reads_per_missing_lookup"].get<double>();
}

void FillAndClose(const DbConfig& config, const std::string& path, uint64_t keys = 4000,
                  uint64_t files = 5) {
  const DbPtr db = Open(config.Build(), path);
  WriteOverlappingFiles(db.get(), keys, files);
}

TEST_F(Looking, LeavesNoTrace) {
  DbConfig config("rocksieve.bloom:10");
  FillAndClose(config, Path());
  {
    const DbPtr db = Open(config.Build(), Path());  // leaves a log with data
    Must(db->Put(rocksdb::WriteOptions(), "unflushed", "value"));
  }
  // What RocksDB deletes even when it opens a database read-only.
  std::ofstream(Path() + "/000999.sst.trash") << "deleted by a rate limiter";
  std::ofstream(Path() + "/000998.log.trash") << "likewise";
  const auto before = StateOf(Path());
  const Json explained = Explain();
  EXPECT_GT(explained["write_ahead_log_bytes"], 0);
  EXPECT_EQ(RunCommand("inspect " + SomeTable()).exit_code, 0);
  EXPECT_EQ(StateOf(Path()), before);
}

// Permissions do not bind root, but for a root without the power to overrule them. Another user
// would not do: the command may lie where only its owner may enter.
std::string BoundByPermissions() {
  return geteuid() == 0
             ? "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner --inh-caps=-all"
             : "";
}

TEST_F(Looking, NeedsNoPermissionToWrite) {
  FillAndClose(DbConfig("rocksieve.ribbon:10"), Path());
  const fs::path parent = fs::path(Path()).parent_path();
  const std::string explain = "explain --db=" + Path();
  for (const auto& entry : fs::directory_iterator(Path())) fs::permissions(entry, fs::perms(0444));
  fs::permissions(Path(), fs::perms(0555));
  fs::permissions(parent, fs::perms(0555));
  const CommandResult looked = RunCommand(explain, BoundByPermissions());
  fs::permissions(Path(), fs::perms(0000));
  const CommandResult refused = RunCommand(explain, BoundByPermissions());
  fs::permissions(Path(), fs::perms(0755));
  fs::permissions(parent, fs::perms(0755));
  EXPECT_EQ(looked.exit_code, 0) << looked.output;
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  ExpectSays(refused.output, "Permission denied");
}

// Each look is a process of its own, which takes some fifty flushes of the owner.
TEST_F(Looking, BesideAnOwnerThatFlushesAndCompactsWithoutPause) {
  BusyOwner owner(BusyOwner::Options(DbConfig("rocksieve.bloom:10")), Path());
  const int looks = LooksBesideABusyOwner(5);
  for (const char* command : {"explain", "doctor", "whatif"}) {
    for (int look = 0; look < looks; look++) {
      const CommandResult result = RunCommand(std::string(command) + " --json --db=" + Path());
      // Doctor may find something, since all there is are a few keys.
      const bool ran = result.exit_code == 0 || (result.exit_code == 1 && *command == 'd');
      ASSERT_TRUE(ran) << command << ", look " << look << ": " << result.output;
      EXPECT_EQ(result.output.find("unreadable"), std::string::npos) << result.output;
    }
  }
}

TEST_F(Looking, BesideALivingDatabase) {
  DbConfig config("rocksieve.cuckoo:10");
  const DbPtr db = Open(config.Build(), Path());
  const Oracle oracle = WriteOverlappingFiles(db.get(), 3000, 3);
  EXPECT_EQ(Explain()["column_families"][0]["files"], 3);
  Compact(db.get());
  EXPECT_EQ(Explain()["column_families"][0]["files"], 1);
  ExpectHolds(db.get(), oracle);
  Must(db->Put(rocksdb::WriteOptions(), "more", "value"));
  Flush(db.get());
  EXPECT_EQ(Explain()["column_families"][0]["files"], 2);
}

TEST_F(Looking, LogsThatTheManifestTracks) {
  DbConfig config("rocksieve.bloom:10");
  config.options.track_and_verify_wals_in_manifest = true;
  config.options.env = rocksdb::Env::Default();
  const DbPtr db = Open(config.Build(), Path());
  WriteOverlappingFiles(db.get(), 1000, 2);
  rocksdb::WriteOptions synced;
  synced.sync = true;
  Must(db->Put(synced, "unflushed", "value"));
  Must(db->SyncWAL());
  EXPECT_EQ(Explain()["column_families"][0]["files"], 2);
}

TEST_F(Looking, AnUnknownComparator) {
  const ByLength by_length;
  for (const bool with_options_file : {true, false}) {
    DbConfig config("rocksieve.bloom:10");
    config.options.comparator = &by_length;
    {
      const DbPtr db = Open(config.Build(), Path());
      for (int i = 0; i < 20000; i++) {
        Must(db->Put(rocksdb::WriteOptions(), std::to_string(i), "value"));
        if (i % 6000 == 5999) Flush(db.get());
      }
      Compact(db.get());
    }
    if (!with_options_file) {
      for (const auto& entry : fs::directory_iterator(Path())) {
        if (entry.path().filename().string().rfind("OPTIONS", 0) == 0) fs::remove(entry);
      }
    }
    const Json family = Explain()["column_families"][0];
    EXPECT_EQ(family["keys"], 20000);
    EXPECT_TRUE(family["expected_useless_reads_per_missing_lookup"].is_null());
    EXPECT_NEAR(family["measured_false_positive_rate"], 0.005, 0.001);
    EXPECT_EQ(family["comparator"], "test.ByLength");
    ExpectSays(family["notes"].dump(), "test.ByLength is not in this program");
    fs::remove_all(Path());
  }
}

class Joining final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "test.Joining"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* old, const rocksdb::Slice& value,
             std::string* result, rocksdb::Logger*) const override {
    *result = (old == nullptr ? "" : old->ToString()) + value.ToString();
    return true;
  }
};

TEST_F(Looking, AnUnknownMergeOperator) {
  DbConfig config("rocksieve.bloom:8");
  config.options.merge_operator = std::make_shared<Joining>();
  {
    const DbPtr db = Open(config.Build(), Path());
    for (int part = 0; part < 3; part++) {
      for (int i = 0; i < 3000; i++) {
        Must(db->Merge(rocksdb::WriteOptions(), PresentKey(i), "more"));
      }
      Flush(db.get());
    }
  }
  const Json family = Explain()["column_families"][0];
  EXPECT_TRUE(family["notes"].empty()) << family["notes"];
  EXPECT_NEAR(ReadsOf(family), 3 * family["predicted_false_positive_rate"].get<double>(), 0.006);
}

TEST_F(Looking, UserDefinedTimestamps) {
  DbConfig config(PolicyPtr(rocksdb::NewBloomFilterPolicy(10)));
  Must(rocksdb::Comparator::CreateFromString(
      rocksdb::ConfigOptions(), "leveldb.BytewiseComparator.u64ts", &config.options.comparator));
  {
    const DbPtr db = Open(config.Build(), Path());
    for (int part = 0; part < 4; part++) {
      for (int i = part; i < 6000; i += 4) {
        Must(db->Put(rocksdb::WriteOptions(), PresentKey(i), std::string(8, '\0'), "value"));
      }
      Flush(db.get());
    }
  }
  const Json family = Explain()["column_families"][0];
  EXPECT_TRUE(family["notes"].empty()) << family["notes"];
  EXPECT_NEAR(ReadsOf(family), 4 * 0.0095, 0.006);
}

TEST_F(Looking, ColumnFamilies) {
  DbConfig config("rocksieve.bloom:10");
  {
    const DbPtr db = Open(config.Build(), Path());
    for (const char* name : {"odd name, with [signs] \"and\" #:\\", "empty"}) {
      rocksdb::ColumnFamilyHandle* handle = nullptr;
      rocksdb::ColumnFamilyOptions options(config.Build());
      options.comparator = rocksdb::ReverseBytewiseComparator();
      Must(db->CreateColumnFamily(options, name, &handle));
      if (std::string(name) != "empty") {
        for (int i = 0; i < 5000; i++) {
          Must(db->Put(rocksdb::WriteOptions(), handle, PresentKey(i), "value"));
        }
        Must(db->Flush(rocksdb::FlushOptions(), handle));
      }
      Must(db->DestroyColumnFamilyHandle(handle));
    }
  }
  const Json families = Explain()["column_families"];
  ASSERT_EQ(families.size(), 3u);
  EXPECT_EQ(families[1]["name"], "odd name, with [signs] \"and\" #:\\");
  EXPECT_EQ(families[1]["keys"], 5000);
  EXPECT_EQ(families[1]["comparator"], "rocksdb.ReverseBytewiseComparator");
  EXPECT_EQ(families[1]["filter_policy"], "rocksieve.bloom:10");
  EXPECT_EQ(families[2]["files"], 0);
  EXPECT_EQ(ReadsOf(families[2]), 0);

  EXPECT_EQ(Explain("--column-family=empty")["column_families"].size(), 1u);
  const std::string error = ExplainFails("--column-family=nonsuch");
  ExpectSays(error, "no column family \"nonsuch\"");
  ExpectSays(error, "default, odd name");
}

TEST_F(Looking, TableFormatsWithoutFilters) {
  DbConfig config("rocksieve.bloom:10");
  config.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  rocksdb::Options options = config.Build();
  options.table_factory.reset(rocksdb::NewPlainTableFactory());
  options.allow_mmap_reads = true;
  {
    const DbPtr db = Open(options, Path());
    WriteOverlappingFiles(db.get(), 100, 1);
  }
  const Json explained = Explain("", 1);
  ExpectSays(explained["column_families"][0]["problems"].dump(), "PlainTable");
  const CommandResult inspected = RunCommand("inspect " + SomeTable());
  ExpectSays(inspected.output, "PlainTable");
  EXPECT_EQ(inspected.output.find("repair"), std::string::npos) << inspected.output;
  ExpectSays(RunCommand("diff " + Path() + " " + Path()).output, "table_factory=PlainTable");
}

class ToyCipher final : public rocksdb::BlockCipher {
 public:
  const char* Name() const override { return "test.ToyCipher"; }
  size_t BlockSize() override { return 32; }
  rocksdb::Status Encrypt(char* data) override {
    for (size_t i = 0; i < BlockSize(); i++) data[i] = static_cast<char>(data[i] ^ (i + 77));
    return rocksdb::Status::OK();
  }
  rocksdb::Status Decrypt(char* data) override { return Encrypt(data); }
};

TEST_F(Looking, AnEncryptedFileSystem) {
  const auto cipher = rocksdb::EncryptionProvider::NewCTRProvider(std::make_shared<ToyCipher>());
  const std::unique_ptr<rocksdb::Env> env(
      rocksdb::NewEncryptedEnv(rocksdb::Env::Default(), cipher));
  DbConfig config("rocksieve.bloom:10");
  config.options.env = env.get();
  FillAndClose(config, Path(), 1000, 1);
  ExpectSays(ExplainFails(), "encrypted");
  const CommandResult inspected = RunCommand("inspect " + SomeTable());
  EXPECT_EQ(inspected.exit_code, 2);
  ExpectSays(inspected.output, "encrypted");
}

TEST_F(Looking, NothingThere) {
  ExpectSays(ExplainFails(), "there is no directory " + Path());
  fs::create_directory(Path());
  ExpectSays(ExplainFails(), "it has no file CURRENT");
  std::ofstream(Path() + "/000007.sst") << "x";
  ExpectSays(ExplainFails(), "but table files");
  fs::remove_all(Path());
  std::ofstream(Path()) << "a file";
  ExpectSays(ExplainFails(), "is no directory");
}

// What CURRENT says is anybody's word: of an encrypted database, it is random bytes.
TEST_F(Looking, CurrentNamesWhatCannotBeRead) {
  FillAndClose(DbConfig("rocksieve.bloom:10"), Path(), 100, 1);
  fs::create_directory(Path() + "/MANIFEST-000098");
  ASSERT_EQ(mkfifo((Path() + "/MANIFEST-000099").c_str(), 0600), 0);
  using namespace std::string_literals;
  for (const std::string& name : {"MANIFEST-"s + std::string(100, '7'), std::string(255, 'x'),
                                  std::string(5000, 'x'), "MANIFEST-000098"s, "MANIFEST-000099"s,
                                  "MANIFEST-000001/CURRENT"s, "a\0b"s, "/dev/zero"s, ""s}) {
    for (const char* end : {"\n", ""}) {
      std::ofstream(Path() + "/CURRENT") << name << end;
      ExpectSays(ExplainFails(), "cannot read the list of files of the database in " + Path());
    }
  }
}

// A process that is killed during its first flush leaves a table, whole or not, which the MANIFEST
// does not list; its log has the rows. RocksDB opens that, and nothing is to be repaired.
TEST_F(Looking, KilledDuringTheFirstFlush) {
  const rocksdb::Options options = DbConfig("rocksieve.bloom:10").Build();
  Must(Open(options, Path())->Put(rocksdb::WriteOptions(), "in the log", "value"));
  const std::string table = Path() + "/000099.sst";
  const std::string other = directory_ / "other";
  FillAndClose(DbConfig("rocksieve.bloom:10"), other, 100, 1);
  std::ofstream(table) << "half a table";
  EXPECT_EQ(Explain()["column_families"][0]["files"], 0);
  EXPECT_EQ(RunCommand("doctor --db=" + Path()).exit_code, 0);
  fs::copy_file(FirstTableIn(other), table, fs::copy_options::overwrite_existing);
  EXPECT_GT(Explain()["write_ahead_log_bytes"], 0);
  std::string value;
  Must(Open(options, Path())->Get(rocksdb::ReadOptions(), "in the log", &value));
}

// The MANIFEST of before the first flush, and no log: RocksDB opens that too, as empty.
TEST_F(Looking, TheEndOfTheManifestIsLost) {
  const rocksdb::Options options = DbConfig("rocksieve.bloom:10").Build();
  Open(options, Path()).reset();
  const std::string other = directory_ / "other";
  FillAndClose(DbConfig("rocksieve.bloom:10"), other, 100, 1);
  const std::string table = Path() + "/000009.sst";
  std::ofstream(table) << "half a table";
  Explain();
  fs::copy_file(FirstTableIn(other), table, fs::copy_options::overwrite_existing);
  ExpectSays(ExplainFails(), "lists no table file, yet 1 are there, with rows that no log has");
  Open(options, Path()).reset();
  EXPECT_FALSE(fs::exists(table));
}

TEST_F(Looking, PipesInThePlaceOfFiles) {
  FillAndClose(DbConfig("rocksieve.bloom:10"), Path(), 100, 1);
  const std::string table = SomeTable();
  fs::remove(table);
  ASSERT_EQ(mkfifo(table.c_str(), 0600), 0);
  ExpectSays(RunCommand("inspect " + table).output, "it is no regular file");
  ExpectSays(Explain("", 1).dump(), "it is no regular file");
  fs::remove(Path() + "/CURRENT");
  ASSERT_EQ(mkfifo((Path() + "/CURRENT").c_str(), 0600), 0);
  ExpectSays(ExplainFails(), "it is no regular file");
}

TEST_F(Looking, OnlyDeletions) {
  DbConfig config("rocksieve.bloom:10");
  {
    const DbPtr db = Open(config.Build(), Path());
    WriteOverlappingFiles(db.get(), 1000, 1);
    for (int i = 0; i < 1000; i++) Must(db->Delete(rocksdb::WriteOptions(), PresentKey(i)));
    Flush(db.get());
  }
  const Json family = Explain()["column_families"][0];
  EXPECT_EQ(family["deletions"], 1000);
  ExpectSays(family["notes"].dump(), "fewer than two live keys");
}

TEST_F(Looking, TinyDatabases) {
  for (const int keys : {1, 2, 3}) {
    DbConfig config("rocksieve.ribbon:10");
    FillAndClose(config, Path(), static_cast<uint64_t>(keys), 1);
    EXPECT_LE(ReadsOf(Explain()["column_families"][0]), 0.3);
    fs::remove_all(Path());
  }
}

}  // namespace
}  // namespace rocksieve
