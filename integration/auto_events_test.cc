// SPDX-License-Identifier: Apache-2.0
// What happens to trees beside flushes and compactions: failed jobs, FIFO deletion, a log that is
// replayed, filters of prefixes, a last level without filters, cancelled compactions.
#include <atomic>

#include <rocksdb/comparator.h>
#include <rocksdb/slice_transform.h>

#include "integration/tree.h"

namespace rocksieve {
namespace {

// Refuses to make table files as long as it is told to.
class FailingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  FailingFileSystem() : FileSystemWrapper(UnsyncedEnv()->GetFileSystem()) {}
  const char* Name() const override { return "FailingFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    if (fails && name.size() > 4 && name.substr(name.size() - 4) == ".sst" && ++tables % 2 == 0) {
      rocksdb::IOStatus status = rocksdb::IOStatus::IOError("no room for " + name);
      status.SetRetryable(true);  // else the database would have to be opened anew
      return status;
    }
    return target()->NewWritableFile(name, options, file, debug);
  }
  std::atomic<bool> fails{false};
  std::atomic<int> tables{0};
};

class Events : public testing::TestWithParam<bool> {
 protected:
  TreeConfig Config() const { return TreeConfig("rocksieve.auto:10", GetParam(), 4); }
  void Fill(int flushes) {
    for (int i = 0; i < flushes * 2000; i++) {
      Must(db_->Put(rocksdb::WriteOptions(), ScatteredKey(2 * next_++), std::string(24, 'v')));
      if (i % 2000 == 1999) Flush(db_.get());
    }
    WaitForCompactions(db_.get());
  }
  void ExpectBudget(double share) {
    const double bits = MemoryOf(db_.get()).bits();
    std::printf("%.2f bits, files per level %s\n", bits, ShapeOf(db_.get()).c_str());
    EXPECT_NEAR(bits, 10, 10 * share);
    uint64_t lost = 0;
    std::string value;
    for (uint64_t i = 0; i < next_; i += 7) {
      if (!db_->Get(rocksdb::ReadOptions(), ScatteredKey(2 * i), &value).ok()) lost++;
    }
    EXPECT_EQ(lost, 0u);
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "db";
  std::unique_ptr<rocksdb::Env> env_;  // outlives the database
  DbPtr db_;
  uint64_t next_ = 0;
};

TEST_P(Events, JobsThatFail) {
  const auto file_system = std::make_shared<FailingFileSystem>();
  env_ = rocksdb::NewCompositeEnv(file_system);
  TreeConfig config = Config();
  config.db.options.env = env_.get();
  db_ = Open(config.db.Build(), path_);
  Fill(20);
  for (int round = 0; round < 3; round++) {
    file_system->fails = true;
    for (int i = 0; i < 2000; i++) {
      db_->Put(rocksdb::WriteOptions(), ScatteredKey(2 * next_++), "v").PermitUncheckedError();
    }
    db_->Flush(rocksdb::FlushOptions()).PermitUncheckedError();
    rocksdb::CompactRangeOptions everything;
    db_->CompactRange(everything, nullptr, nullptr).PermitUncheckedError();
    file_system->fails = false;
    rocksdb::Status resumed;
    for (int attempt = 0; attempt < 100; attempt++) {
      resumed = db_->Resume();
      if (resumed.ok()) resumed = db_->Put(rocksdb::WriteOptions(), ScatteredKey(0), "v");
      if (resumed.ok()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    Must(resumed);
    // What could not be written while the database was stopped is written again.
    for (uint64_t i = next_ - 2000; i < next_; i++) {
      Must(db_->Put(rocksdb::WriteOptions(), ScatteredKey(2 * i), "v"));
    }
    Flush(db_.get());
    WaitForCompactions(db_.get());
  }
  Fill(10);
  ExpectBudget(0.1);
  db_.reset();
}

TEST_P(Events, FifoDeletesTheOldest) {
  TreeConfig config = Config();
  config.db.options.compaction_style = rocksdb::kCompactionStyleFIFO;
  config.db.options.num_levels = 1;
  config.db.options.compaction_options_fifo.max_table_files_size = 1 << 20;
  db_ = Open(config.db.Build(), path_);
  for (uint64_t i = 0; i < 100000; i++) {
    Must(db_->Put(rocksdb::WriteOptions(), NumberedKey(2 * i), std::string(24, 'v')));
    if (i % 2000 == 1999) Flush(db_.get());
  }
  WaitForCompactions(db_.get());
  const Memory memory = MemoryOf(db_.get());
  EXPECT_LT(memory.files, 20u);
  EXPECT_NEAR(memory.bits(), 10, 0.6);
}

TEST_P(Events, LogsAreReplayed) {
  for (int round = 0; round < 6; round++) {
    TreeConfig config = Config();
    config.db.options.avoid_flush_during_recovery = round % 2 == 0;
    config.db.options.write_buffer_size = 64 << 10;
    db_ = Open(config.db.Build(), path_);
    for (int i = 0; i < 7000; i++) {
      Must(db_->Put(rocksdb::WriteOptions(), ScatteredKey(2 * next_++), std::string(24, 'v')));
    }
    db_.reset();
  }
  db_ = Open(Config().db.Build(), path_);
  Fill(2);
  ExpectBudget(GetParam() ? 0.1 : 0.15);
}

TEST_P(Events, PrefixesAreNoEntries) {
  for (const bool whole_keys : {true, false}) {
    SCOPED_TRACE(whole_keys);
    db_.reset();
    next_ = 0;
    TreeConfig config = Config();
    config.db.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
    config.db.table.whole_key_filtering = whole_keys;
    db_ = Open(config.db.Build(), path_ + (whole_keys ? "1" : "0"));
    Fill(25);
    if (whole_keys) ExpectBudget(0.1);
    // Some 60,000 prefixes: each of them has at most the bits that a filter can use.
    if (!whole_keys) {
      EXPECT_LT(MemoryOf(db_.get()).bits(), 11);
      ExpectBudget(1);
    }
  }
}

TEST_P(Events, LastLevelWithoutFilters) {
  TreeConfig config = Config();
  config.db.options.optimize_filters_for_hits = true;
  db_ = Open(config.db.Build(), path_);
  Fill(30);
  const Memory memory = MemoryOf(db_.get());
  EXPECT_LT(memory.bits(), 11);
  ExpectBudget(1);
}

TEST_P(Events, CompactionsAreCancelled) {
  db_ = Open(Config().db.Build(), path_);
  for (int round = 0; round < 6; round++) {
    Fill(4);
    std::thread compaction([&] {
      rocksdb::CompactRangeOptions everything;
      db_->CompactRange(everything, nullptr, nullptr).PermitUncheckedError();
    });
    db_->DisableManualCompaction();
    db_->EnableManualCompaction();
    compaction.join();
    WaitForCompactions(db_.get());
  }
  ExpectBudget(0.1);
}

TEST_P(Events, KeysInReverseOrder) {
  TreeConfig config = Config();
  config.db.options.comparator = rocksdb::ReverseBytewiseComparator();
  for (int round = 0; round < 3; round++) {
    db_ = Open(config.db.Build(), path_);
    Fill(15);
    if (round < 2) db_.reset();
  }
  ExpectBudget(0.1);
}

TEST_P(Events, ManyReopenings) {
  const TreeConfig config = Config();
  const rocksdb::Options options = config.db.Build();
  for (int round = 0; round < 15; round++) {
    db_ = Open(options, path_);  // the same policy and listener
    Fill(2);
    db_.reset();
  }
  db_ = Open(options, path_);
  Fill(4);
  // Without a listener, reopening forgets all that was there.
  ExpectBudget(GetParam() ? 0.1 : 0.2);
}

INSTANTIATE_TEST_SUITE_P(Modes, Events, testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Listener" : "History");
});

}  // namespace
}  // namespace rocksieve
