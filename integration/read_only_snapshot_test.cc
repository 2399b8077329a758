// SPDX-License-Identifier: Apache-2.0
// A read-only snapshot beside a living database: complete, of one moment, and without a trace.
#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/comparator.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>

#include "integration/busy_owner.h"
#include "integration/database.h"
#include "integration/join_support.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/join/rocksdb_source.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<ReadOnlySnapshot> View(const std::string& directory,
                                       const std::string& family = "default") {
  std::unique_ptr<ReadOnlySnapshot> view;
  Must(ReadOnlySnapshot::Open(directory, family, &view));
  return view;
}

Oracle RowsOf(const ReadOnlySnapshot& view) {
  const auto source = join::RocksDbSource::Open(view.db(), view.column_family());
  if (!source.ok()) throw std::runtime_error(source.status().ToString());
  Oracle rows;
  const std::unique_ptr<join::Cursor> cursor = (*source)->Scan({});
  join::Row row;
  while (cursor->Next(&row)) rows.emplace(row.key, row.value);
  if (!cursor->status().ok()) throw std::runtime_error(cursor->status().ToString());
  return rows;
}

TEST(ReadOnlySnapshot, ShowsFilesAndLogsAndLeavesNoTrace) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.merge_operator = join::Appending();
  const std::string path = directory / "db";
  const DbPtr db = Open(config.Build(), path);
  Must(db->DisableFileDeletions());  // what goes is then not the owner's doing
  rocksdb::ColumnFamilyHandle* other = nullptr;
  Must(db->CreateColumnFamily(config.Build(), "other", &other));
  Oracle oracle = WriteOverlappingFiles(db.get(), 3000, 3);
  Must(db->Put(rocksdb::WriteOptions(), other, "x", "1"));
  Must(db->Flush(rocksdb::FlushOptions(), other));
  Must(db->Merge(rocksdb::WriteOptions(), other, "x", "2"));
  for (int i = 0; i < 500; i++) {
    Must(db->Delete(rocksdb::WriteOptions(), PresentKey(i)));
    oracle.erase(PresentKey(i));
    Must(db->Put(rocksdb::WriteOptions(), MissingKey(i), "only in the log"));
    oracle[MissingKey(i)] = "only in the log";
  }
  const auto before = StateOf(path, "LOG");  // where the owner writes
  const std::unique_ptr<ReadOnlySnapshot> view = View(path), of_other = View(path, "other");
  EXPECT_TRUE(RowsOf(*view) == oracle);
  EXPECT_EQ(RowsOf(*of_other), (Oracle{{"x", "1,2"}}));
  EXPECT_EQ(StateOf(path, "LOG"), before);

  // The owner goes on; the view does not.
  Must(db->EnableFileDeletions());
  for (int i = 0; i < 3000; i++) Must(db->Delete(rocksdb::WriteOptions(), PresentKey(i)));
  Flush(db.get());
  Compact(db.get());
  EXPECT_TRUE(RowsOf(*view) == oracle);
  EXPECT_EQ(RowsOf(*View(path)).size(), 500u);
  Must(db->DestroyColumnFamilyHandle(other));
}

class UnknownOrder final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "example.UnknownOrder"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return b.compare(a);
  }
  void FindShortestSeparator(std::string*, const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST(ReadOnlySnapshot, DoesNotMindWhatOtherColumnFamiliesNeed) {
  TemporaryDirectory directory;
  const UnknownOrder order;
  DbConfig config("rocksieve.bloom:10");
  config.options.comparator = &order;
  const std::string path = directory / "db";
  const DbPtr db = Open(config.Build(), path);
  rocksdb::ColumnFamilyHandle* other = nullptr;
  Must(db->CreateColumnFamily(DbConfig("rocksieve.bloom:10").Build(), "other", &other));
  for (const char* key : {"a", "b", "c"}) {
    Must(db->Put(rocksdb::WriteOptions(), key, "default"));
    Must(db->Put(rocksdb::WriteOptions(), other, key, "other"));
  }
  EXPECT_EQ(RowsOf(*View(path, "other")), (Oracle{{"a", "other"}, {"b", "other"}, {"c", "other"}}));
  EXPECT_THROW(View(path), std::runtime_error) << "its order is not known";
  Must(db->DestroyColumnFamilyHandle(other));
}

TEST(ReadOnlySnapshot, FindsLogsInAnotherDirectory) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.wal_dir = directory / "logs";
  const std::string path = directory / "db";
  const DbPtr db = Open(config.Build(), path);
  Must(db->Put(rocksdb::WriteOptions(), "a", "1"));
  EXPECT_EQ(RowsOf(*View(path)), (Oracle{{"a", "1"}}));
}

// What the owner writes later is in its logs, which are not those of the state, though its OPTIONS
// may name them.
TEST(KeptStates, HaveTheirOwnLogs) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  const std::string path = directory / "db";
  config.options.wal_dir = path + "/./";
  const DbPtr db = Open(config.Build(), path);
  Must(db->Put(rocksdb::WriteOptions(), "a", "1"));
  const KeptStates states(directory / "states");
  std::unique_ptr<ReadOnlySnapshot> state;
  std::string name;
  Must(states.OpenAndKeep(path, "default", nullptr, &state, &name));
  Must(db->Put(rocksdb::WriteOptions(), "b", "2"));
  Must(states.Open(name, "default", nullptr, &state));
  EXPECT_EQ(RowsOf(*state), (Oracle{{"a", "1"}}));
}

TEST(KeptStates, AreGoneIfTheirLogsAreCutOff) {
  TemporaryDirectory directory;
  const std::string path = directory / "db";
  const DbPtr db = Open(DbConfig("rocksieve.bloom:10").Build(), path);
  for (const char* key : {"a", "b"}) Must(db->Put(rocksdb::WriteOptions(), key, "1"));
  const KeptStates states(directory / "states");
  std::unique_ptr<ReadOnlySnapshot> state;
  std::string name;
  Must(states.OpenAndKeep(path, "default", nullptr, &state, &name));
  for (const auto& entry : fs::recursive_directory_iterator(directory / "states")) {
    if (entry.path().extension() != ".log") continue;
    fs::resize_file(entry.path(), entry.file_size() - 3);
  }
  EXPECT_TRUE(states.Open(name, "default", nullptr, &state).IsNotFound());
}

void ExpectWholeViewsBeside(const rocksdb::Options& options, int looks,
                            int batches_per_flush = 97) {
  TemporaryDirectory directory;
  const std::string path = directory / "db";
  BusyOwner owner(options, path, batches_per_flush);
  for (int look = 0; look < looks; look++) {
    const int at_least = owner.written();
    std::unique_ptr<ReadOnlySnapshot> view;
    const rocksdb::Status status = ReadOnlySnapshot::Open(path, "default", &view);
    ASSERT_TRUE(status.ok()) << "look " << look << ": " << status.ToString();
    const Oracle rows = RowsOf(*view);
    const int last = std::stoi(rows.at("last"));
    EXPECT_GE(last, at_least);
    EXPECT_EQ(rows, BusyOwner::RowsAfter(last));
  }
}

TEST(ReadOnlySnapshot, IsOfOneMomentWhileTheOwnerFlushesAndCompacts) {
  ExpectWholeViewsBeside(BusyOwner::Options(DbConfig("rocksieve.bloom:10")),
                         LooksBesideABusyOwner(100));
}

TEST(ReadOnlySnapshot, IsOfOneMomentWhileTheOwnerChangesItsManifest) {
  rocksdb::Options options = BusyOwner::Options(DbConfig("rocksieve.bloom:10"));
  options.max_manifest_file_size = 1000;
  ExpectWholeViewsBeside(options, LooksBesideABusyOwner(30));
}

TEST(ReadOnlySnapshot, IsOfOneMomentWhileTheOwnerOverwritesItsLogs) {
  rocksdb::Options options = BusyOwner::Options(DbConfig("rocksieve.bloom:10"));
  options.recycle_log_file_num = 2;
  // RocksDB 9 overwrites a log at once: one must live as long as a look takes.
  ExpectWholeViewsBeside(options, LooksBesideABusyOwner(30), /*batches_per_flush=*/1997);
}

// Blobs are opened when they are read: the view holds them all the same.
TEST(ReadOnlySnapshot, KeepsBlobsThatTheOwnerCollects) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.enable_blob_files = true;
  config.options.min_blob_size = 100;
  config.options.enable_blob_garbage_collection = true;
  config.options.blob_garbage_collection_age_cutoff = 1;
  const std::string path = directory / "db";
  const DbPtr db = Open(config.Build(), path);
  Oracle oracle;
  for (int i = 0; i < 200; i++) {
    oracle[PresentKey(i)] = std::string(1000, static_cast<char>('a' + i % 26));
    Must(db->Put(rocksdb::WriteOptions(), PresentKey(i), oracle[PresentKey(i)]));
    if (i % 100 == 99) Flush(db.get());
  }
  const auto blobs = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".blob") names.insert(entry.path().filename());
    }
    return names;
  };
  const std::set<std::string> before = blobs();
  ASSERT_EQ(before.size(), 2u);
  const std::unique_ptr<ReadOnlySnapshot> view = View(path);
  Compact(db.get());
  for (const std::string& name : blobs()) EXPECT_EQ(before.count(name), 0u) << "not collected";
  EXPECT_TRUE(RowsOf(*view) == oracle);
  EXPECT_TRUE(RowsOf(*View(path)) == oracle);
}

class Unknown final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "example.Unknown"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*, const rocksdb::Slice& value,
             std::string* result, rocksdb::Logger*) const override {
    result->assign(value.data(), value.size());
    return true;
  }
};

TEST(ReadOnlySnapshot, SaysThatItCannotMerge) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.merge_operator = std::make_shared<Unknown>();
  const std::string path = directory / "db";
  const DbPtr db = Open(config.Build(), path);
  Must(db->Put(rocksdb::WriteOptions(), "a", "1"));
  EXPECT_EQ(RowsOf(*View(path)), (Oracle{{"a", "1"}})) << "no merges, no need of the operator";
  Must(db->Merge(rocksdb::WriteOptions(), "a", "2"));
  EXPECT_THROW(RowsOf(*View(path)), std::runtime_error) << "it is in the log";
  const rocksdb::Snapshot* snapshot = db->GetSnapshot();
  Must(db->Merge(rocksdb::WriteOptions(), "b", "3"));
  Flush(db.get());
  db->ReleaseSnapshot(snapshot);
  std::unique_ptr<ReadOnlySnapshot> view;
  const rocksdb::Status status = ReadOnlySnapshot::Open(path, "default", &view);
  if (status.ok()) {
    // The flush made values of all merges: then nothing is missing.
    EXPECT_EQ(RowsOf(*view), (Oracle{{"a", "2"}, {"b", "3"}}));
  } else {
    EXPECT_NE(status.ToString().find("example.Unknown"), std::string::npos) << status.ToString();
  }
}

std::unique_ptr<rocksdb::TransactionDB> OpenForTransactions(const std::string& path,
                                                            rocksdb::TxnDBWritePolicy policy) {
  rocksdb::TransactionDBOptions options;
  options.write_policy = policy;
  rocksdb::TransactionDB* db = nullptr;
  Must(rocksdb::TransactionDB::Open(DbConfig("rocksieve.bloom:10").Build(), options, path, &db));
  return std::unique_ptr<rocksdb::TransactionDB>(db);
}

TEST(ReadOnlySnapshot, ShowsTransactionsThatAreCommitted) {
  TemporaryDirectory directory;
  const auto db = OpenForTransactions(directory / "db", rocksdb::WRITE_COMMITTED);
  Must(db->Put(rocksdb::WriteOptions(), "a", "1"));
  std::unique_ptr<rocksdb::Transaction> transactions[2];
  for (const char* name : {"b", "c"}) {
    auto& transaction = transactions[name[0] - 'b'];
    transaction.reset(db->BeginTransaction(rocksdb::WriteOptions()));
    Must(transaction->SetName(name));
    Must(transaction->Put(name, "2"));
    Must(transaction->Prepare());
  }
  Must(transactions[0]->Commit());
  EXPECT_EQ(RowsOf(*View(directory / "db")), (Oracle{{"a", "1"}, {"b", "2"}}));
  Must(db->Put(rocksdb::WriteOptions(), "d", "4"));
  Flush(db.get());
  Must(transactions[1]->Commit());
  EXPECT_EQ(RowsOf(*View(directory / "db")),
            (Oracle{{"a", "1"}, {"b", "2"}, {"c", "2"}, {"d", "4"}}));
}

// Such as a read-only RocksDB would read wrongly, prepared or not, in one log or in two.
TEST(ReadOnlySnapshot, RefusesLogsOfOtherTransactions) {
  for (const std::string how : {"prepared", "in one log", "in two logs"}) {
    TemporaryDirectory directory;
    const auto db = OpenForTransactions(directory / "db", rocksdb::WRITE_PREPARED);
    rocksdb::ColumnFamilyHandle* other = nullptr;
    Must(db->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "other", &other));
    Must(db->Put(rocksdb::WriteOptions(), other, "a", "1"));
    const std::unique_ptr<rocksdb::Transaction> transaction(
        db->BeginTransaction(rocksdb::WriteOptions()));
    Must(transaction->SetName("transaction"));
    for (const char* key : {"a", "b", "c"}) Must(transaction->Put(key, "1"));
    if (how == "prepared") Must(transaction->Prepare());
    Must(transaction->Commit());
    if (how == "in two logs") Must(db->Flush(rocksdb::FlushOptions(), other));
    Must(db->Put(rocksdb::WriteOptions(), "c", "2"));
    std::unique_ptr<ReadOnlySnapshot> view;
    const std::string status =
        ReadOnlySnapshot::Open(directory / "db", "default", &view).ToString();
    EXPECT_NE(status.find("WRITE_PREPARED"), std::string::npos) << how << ": " << status;
    Must(db->DestroyColumnFamilyHandle(other));
  }
}

TEST(ReadOnlySnapshot, SaysWhatIsMissing) {
  TemporaryDirectory directory;
  std::unique_ptr<ReadOnlySnapshot> view;
  const std::string nowhere = directory / "none";
  EXPECT_NE(ReadOnlySnapshot::Open(nowhere, "default", &view).ToString().find(nowhere),
            std::string::npos);
  const std::string path = directory / "db";
  Open(DbConfig("rocksieve.bloom:10").Build(), path);
  const std::string family = ReadOnlySnapshot::Open(path, "users", &view).ToString();
  EXPECT_NE(family.find("no column family \"users\""), std::string::npos) << family;
}

}  // namespace
}  // namespace rocksieve
