// A frozen view beside a living database: complete, of one moment, and without a trace.
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <rocksdb/comparator.h>
#include <rocksdb/convenience.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/write_batch.h>

#include "database.h"
#include "database/frozen_view.h"
#include "join/rocksdb_source.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using tools::FrozenView;

std::unique_ptr<FrozenView> View(const std::string& directory,
                                 const std::string& family = "default") {
  std::unique_ptr<FrozenView> view;
  Must(FrozenView::Open(directory, family, &view));
  return view;
}

Oracle RowsOf(const FrozenView& view) {
  const auto source = join::RocksDbSource::Open(view.db(), view.column_family());
  if (!source.ok()) throw std::runtime_error(source.status().ToString());
  Oracle rows;
  const std::unique_ptr<join::Cursor> cursor = (*source)->Scan({});
  join::Row row;
  while (cursor->Next(&row)) rows.emplace(row.key, row.value);
  if (!cursor->status().ok()) throw std::runtime_error(cursor->status().ToString());
  return rows;
}

// Names, sizes and times of all files but the log for people, which the owner writes.
std::map<std::string, std::string> StateOf(const std::string& directory) {
  std::map<std::string, std::string> state;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename() == "LOG") continue;
    struct stat file {};
    stat(entry.path().c_str(), &file);
    state[entry.path()] = std::to_string(file.st_ino) + " " + std::to_string(file.st_size) + " " +
                          std::to_string(file.st_mtim.tv_sec) + " " +
                          std::to_string(file.st_mtim.tv_nsec);
  }
  return state;
}

std::shared_ptr<rocksdb::MergeOperator> Appending() {
  std::shared_ptr<rocksdb::MergeOperator> appending;
  Must(rocksdb::MergeOperator::CreateFromString(rocksdb::ConfigOptions(), "stringappend",
                                                &appending));
  return appending;
}

TEST(FrozenView, ShowsFilesAndLogsAndLeavesNoTrace) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.merge_operator = Appending();
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
  const auto before = StateOf(path);
  const std::unique_ptr<FrozenView> view = View(path), of_other = View(path, "other");
  EXPECT_TRUE(RowsOf(*view) == oracle);
  EXPECT_EQ(RowsOf(*of_other), (Oracle{{"x", "1,2"}}));
  EXPECT_EQ(StateOf(path), before);

  // The owner goes on; the view does not.
  Must(db->EnableFileDeletions(/*force=*/true));
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

TEST(FrozenView, DoesNotMindWhatOtherColumnFamiliesNeed) {
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
  EXPECT_THROW(RowsOf(*View(path)), std::runtime_error) << "keys are not in bytewise order";
  Must(db->DestroyColumnFamilyHandle(other));
}

TEST(FrozenView, FindsLogsInAnotherDirectory) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.wal_dir = directory / "logs";
  const std::string path = directory / "db";
  const DbPtr db = Open(config.Build(), path);
  Must(db->Put(rocksdb::WriteOptions(), "a", "1"));
  EXPECT_EQ(RowsOf(*View(path)), (Oracle{{"a", "1"}}));
}

// Each batch writes its number under "last" and under one of 50 keys: whatever moment a view is of,
// its number tells what the keys must have.
TEST(FrozenView, IsOfOneMomentWhileTheOwnerFlushesAndCompacts) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.disable_auto_compactions = false;
  config.options.level0_file_num_compaction_trigger = 2;
  const std::string path = directory / "db";
  const DbPtr db = Open(config.Build(), path);
  constexpr int kSlots = 50;
  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  std::thread owner([&] {
    for (int i = 1; !stop; i++) {
      rocksdb::WriteBatch batch;
      Must(batch.Put("last", std::to_string(i)));
      Must(batch.Put("slot" + std::to_string(i % kSlots), std::to_string(i)));
      Must(db->Write(rocksdb::WriteOptions(), &batch));
      written = i;
      if (i % 97 == 0) {
        Flush(db.get());
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
    }
  });
  while (written < kSlots) std::this_thread::yield();
  int views = 0;
  for (int round = 0; round < 60; round++) {
    const int at_least = written;
    std::unique_ptr<FrozenView> view;
    const rocksdb::Status status = FrozenView::Open(path, "default", &view);
    if (status.IsTimedOut()) continue;  // it says so: the owner was too quick
    if (!status.ok()) ADD_FAILURE() << status.ToString();
    if (!status.ok()) break;
    Oracle rows = RowsOf(*view);
    const int last = std::stoi(rows.at("last"));
    EXPECT_GE(last, at_least);
    Oracle expected = {{"last", std::to_string(last)}};
    for (int i = std::max(1, last - kSlots + 1); i <= last; i++) {
      expected["slot" + std::to_string(i % kSlots)] = std::to_string(i);
    }
    EXPECT_EQ(rows, expected);
    views++;
  }
  EXPECT_GT(views, 10);
  stop = true;
  owner.join();
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

TEST(FrozenView, SaysThatItCannotMerge) {
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
  std::unique_ptr<FrozenView> view;
  const rocksdb::Status status = FrozenView::Open(path, "default", &view);
  if (status.ok()) {
    // The flush made values of all merges: then nothing is missing.
    EXPECT_EQ(RowsOf(*view), (Oracle{{"a", "2"}, {"b", "3"}}));
  } else {
    EXPECT_NE(status.ToString().find("example.Unknown"), std::string::npos) << status.ToString();
  }
}

TEST(FrozenView, SaysWhatIsMissing) {
  TemporaryDirectory directory;
  std::unique_ptr<FrozenView> view;
  const std::string nowhere = directory / "none";
  EXPECT_NE(FrozenView::Open(nowhere, "default", &view).ToString().find(nowhere),
            std::string::npos);
  const std::string path = directory / "db";
  Open(DbConfig("rocksieve.bloom:10").Build(), path);
  const std::string family = FrozenView::Open(path, "users", &view).ToString();
  EXPECT_NE(family.find("no column family \"users\""), std::string::npos) << family;
}

}  // namespace
}  // namespace rocksieve
