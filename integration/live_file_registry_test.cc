// SPDX-License-Identifier: Apache-2.0
// The registry of live files and the history, fed by hand, and the listener's memory.
#include "plugin/auto/live_file_registry.h"
#include "integration/tree.h"
#include "plugin/auto/history.h"
#include "plugin/auto/listener.h"

namespace rocksieve {
namespace {

constexpr const char* kFamily = "default";

RegisteredFile File(uint64_t number, const std::string& from, const std::string& to,
                    uint64_t entries = 100) {
  RegisteredFile file;
  file.number = number;
  file.range = std::make_shared<const UserKeyRange>(UserKeyRange{from, to});
  file.entries = file.filter_keys = entries;
  file.filter_bits = 10.0 * static_cast<double>(entries);
  file.policy_id = 1;
  return file;
}

std::vector<uint64_t> Numbers(const std::vector<RegisteredFile>& files) {
  std::vector<uint64_t> numbers;
  for (const RegisteredFile& file : files) numbers.push_back(file.number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

class LiveFiles : public testing::Test {
 protected:
  // Of a file that some job is about to build.
  std::vector<uint64_t> Others(int job = 1000) const {
    return Numbers(registry_.Look(kFamily, job, File(1000, "a", "b"), true).others);
  }
  void FlushFile(int job, uint64_t number) {
    registry_.BeginJob(kFamily, job, {});
    registry_.Register(kFamily, job, File(number, "a", "z"));
    registry_.EndJob(kFamily, job, {}, {number});
  }
  // One that writes.
  void BeginCompaction(int job, const std::vector<uint64_t>& inputs) {
    registry_.BeginJob(kFamily, job, inputs);
    registry_.BeginFile(kFamily, job, 0);
  }

  LiveFileRegistry registry_;
};

TEST_F(LiveFiles, FollowsFlushesAndCompactions) {
  FlushFile(1, 11);
  FlushFile(2, 12);
  EXPECT_EQ(Others(), (std::vector<uint64_t>{11, 12}));
  BeginCompaction(3, {11, 12});
  registry_.Register(kFamily, 3, File(13, "a", "m"));
  // Its inputs are seen no longer, by itself or others. 0: what is still to come.
  EXPECT_EQ(Others(), (std::vector<uint64_t>{0, 13}));
  const Surroundings own = registry_.Look(kFamily, 3, File(14, "m1", "y"), true);
  EXPECT_EQ(own.freed_bits, File(11, "", "").filter_bits);  // of two files; one is replaced
  EXPECT_EQ(Numbers(own.others), (std::vector<uint64_t>{0, 13}));
  registry_.Register(kFamily, 3, File(14, "m1", "y"));
  registry_.EndJob(kFamily, 3, {11, 12}, {13, 14});
  EXPECT_EQ(Others(), (std::vector<uint64_t>{13, 14}));
}

// Of two subcompactions, each has to know what the other one has written, and has not.
TEST_F(LiveFiles, FollowsSubcompactions) {
  constexpr int kJob = 3;
  FlushFile(1, 11);
  registry_.BeginJob(kFamily, kJob, {11});
  const auto file = [](uint64_t number, const char* from, const char* to, uint64_t writer) {
    RegisteredFile written = File(number, from, to, 4);
    written.writer = writer;
    return written;
  };
  // What is still to come as "FROM-TO entries".
  const auto to_come = [&](const RegisteredFile& self) {
    std::vector<std::string> ranges;
    for (const RegisteredFile& other : registry_.Look(kFamily, kJob, self, true).others) {
      if (other.number != 0) continue;
      const std::string from = other.range->smallest.substr(0, 1);
      ranges.push_back(from + "-" + other.range->largest + " " + std::to_string(other.entries));
    }
    std::sort(ranges.begin(), ranges.end());
    return ranges;
  };
  using Ranges = std::vector<std::string>;
  registry_.BeginFile(kFamily, kJob, 1);
  registry_.BeginFile(kFamily, kJob, 2);
  // The other thread has written nothing: it may be before this one.
  EXPECT_EQ(to_come(file(12, "n", "o", 1)), (Ranges{"a-n 52", "o-z 44"}));
  registry_.Register(kFamily, kJob, file(12, "n", "o", 1));
  EXPECT_EQ(to_come(file(13, "a", "b", 2)), (Ranges{"b-n 48", "o-z 44"}));
  registry_.Register(kFamily, kJob, file(13, "a", "b", 2));
  // What its own thread has left out between two files was deleted: 12 of 52 are left, and so of
  // the rest, which from "m" to "n" is less than an entry.
  EXPECT_EQ(to_come(file(14, "f", "m", 2)), (Ranges{"o-z 10"}));
  registry_.Register(kFamily, kJob, file(14, "f", "m", 2));
  EXPECT_EQ(to_come(file(15, "p", "z", 1)), (Ranges{}));
}

// What one frees is shared by all that has still to be written, that of the other one too.
TEST_F(LiveFiles, CompactionsShareWhatTheyFree) {
  for (int job = 1; job <= 2; job++) FlushFile(job, 10 + job);
  for (int job = 3; job <= 4; job++) BeginCompaction(job, {static_cast<uint64_t>(8 + job)});
  for (const int job : {3, 4, 1000}) {
    const Surroundings around = registry_.Look(kFamily, job, File(15, "a", "m", 50), true);
    EXPECT_EQ(around.freed_bits, 2 * File(11, "", "").filter_bits) << job;
    EXPECT_EQ(Numbers(around.others), (std::vector<uint64_t>{0, 0})) << job;
  }
}

TEST_F(LiveFiles, FollowsKeysInReverseOrder) {
  FlushFile(1, 11);
  registry_.Register(kFamily, 2, File(12, "z", "a"));
  BeginCompaction(3, {12});
  registry_.Register(kFamily, 3, File(13, "z", "n", 50));
  uint64_t to_come = 0;
  for (const RegisteredFile& other : registry_.Look(kFamily, 4, File(14, "m", "l"), true).others) {
    if (other.number == 0) to_come += other.entries;
  }
  EXPECT_NEAR(to_come, 50, 5);
}

// As under optimize_filters_for_hits.
TEST_F(LiveFiles, ExpectsNoFiltersWhereThereWereNone) {
  RegisteredFile file = File(11, "a", "z");
  file.policy_id = 0;
  file.filter_bits = 0;
  registry_.Register(kFamily, 0, file);
  BeginCompaction(2, {11});
  const Surroundings around = registry_.Look(kFamily, 3, File(12, "a", "b"), true);
  ASSERT_EQ(Numbers(around.others), (std::vector<uint64_t>{0}));
  EXPECT_EQ(around.others[0].policy_id, 0u);
  EXPECT_EQ(around.others[0].filter_bits, 0);
}

TEST_F(LiveFiles, KeepsFilesThatWereMoved) {
  FlushFile(1, 11);
  registry_.BeginJob(kFamily, 2, {11});
  EXPECT_EQ(Others(), (std::vector<uint64_t>{11}));  // and while they are being moved
  registry_.EndJob(kFamily, 2, {11}, {11});
  EXPECT_EQ(Others(), (std::vector<uint64_t>{11}));
}

TEST_F(LiveFiles, IsNotMisledByLateEvents) {
  registry_.BeginJob(kFamily, 1, {});
  registry_.Register(kFamily, 1, File(11, "a", "z"));
  registry_.BeginJob(kFamily, 2, {11});
  registry_.Register(kFamily, 2, File(12, "a", "z"));
  registry_.EndJob(kFamily, 2, {11}, {12});
  registry_.EndJob(kFamily, 1, {}, {11});  // the flush completes after its file is gone
  EXPECT_EQ(Others(), (std::vector<uint64_t>{12}));
}

TEST_F(LiveFiles, DropsWhatFailedJobsWrote) {
  FlushFile(1, 11);
  registry_.BeginJob(kFamily, 2, {11});
  registry_.Register(kFamily, 2, File(12, "a", "m"));
  registry_.FailJob(kFamily, 2);
  EXPECT_EQ(Others(), (std::vector<uint64_t>{11}));
  EXPECT_TRUE(registry_.NeedsResync("session", kFamily));
}

TEST_F(LiveFiles, DropsOutputsThatCameToNothing) {
  registry_.BeginJob(kFamily, 1, {});
  registry_.Register(kFamily, 1, File(11, "a", "z"));
  registry_.Register(kFamily, 1, File(12, "a", "z"));
  registry_.EndJob(kFamily, 1, {}, {11});
  EXPECT_EQ(Others(), (std::vector<uint64_t>{11}));
}

TEST_F(LiveFiles, IsReplacedByWhatTheDatabaseLists) {
  FlushFile(1, 11);
  FlushFile(2, 12);
  registry_.BeginJob(kFamily, 4, {});
  registry_.Register(kFamily, 4, File(14, "a", "z"));
  ASSERT_TRUE(registry_.BeginResync());
  EXPECT_FALSE(registry_.BeginResync());  // one at a time
  // Meanwhile a file comes, one that was known before is installed, and one goes.
  FlushFile(3, 13);
  registry_.EndJob(kFamily, 4, {}, {14});
  registry_.Remove(12);
  registry_.Replace("session", {{kFamily, {File(12, "a", "z"), File(20, "a", "z")}}});
  EXPECT_EQ(Others(), (std::vector<uint64_t>{13, 14, 20}));
  EXPECT_FALSE(registry_.NeedsResync("session", kFamily));
  EXPECT_TRUE(registry_.NeedsResync("another session", kFamily));
  for (int job = 10; job < 80; job++) FlushFile(job, 100 + job);
  EXPECT_TRUE(registry_.NeedsResync("session", kFamily));
}

TEST_F(LiveFiles, TheFirstJobAfterOpeningReplacesItsInputs) {
  const FilesByColumnFamily live = {
      {kFamily, {File(11, "a", "m"), File(12, "n", "z"), File(13, "a", "z")}}};
  registry_.BeginJob(kFamily, 5, {11, 12}, "session");
  ASSERT_TRUE(registry_.NeedsResync("session", kFamily));
  ASSERT_TRUE(registry_.BeginResync());
  registry_.Replace("session", live);
  Surroundings own = registry_.Look(kFamily, 5, File(14, "a", "y"), true);
  EXPECT_EQ(own.freed_bits, 2 * File(11, "", "").filter_bits);
  EXPECT_EQ(Numbers(own.others), (std::vector<uint64_t>{0, 13}));  // 0: what is still to come
  // When it is opened again, the job has come to nothing.
  ASSERT_TRUE(registry_.BeginResync());
  registry_.Replace("another session", live);
  own = registry_.Look(kFamily, 5, File(14, "a", "y"), true);
  EXPECT_EQ(own.freed_bits, 0);
  EXPECT_EQ(Numbers(own.others), (std::vector<uint64_t>{11, 12, 13}));
}

TEST_F(LiveFiles, IgnoresColumnFamiliesOfOtherPolicies) {
  registry_.BeginJob("other", 1, {});
  EXPECT_TRUE(registry_.NeedsResync("session", "other"));
  registry_.Complete("other", File(11, "a", "z"), /*is_auto=*/false);
  EXPECT_FALSE(registry_.NeedsResync("session", "other"));
  EXPECT_TRUE(registry_.Known({11}).empty());
}

TEST_F(LiveFiles, ForgetsACompactionWhoseInputsAnotherOneHas) {
  FlushFile(1, 11);
  registry_.BeginJob(kFamily, 2, {11});
  registry_.Register(kFamily, 2, File(12, "a", "m"));
  BeginCompaction(3, {11});
  EXPECT_EQ(Others(), (std::vector<uint64_t>{0}));
  registry_.EndJob(kFamily, 3, {11}, {});
  EXPECT_EQ(Others(), (std::vector<uint64_t>{}));
}

TEST_F(LiveFiles, ForgetsJobsThatNeverEnd) {
  for (int job = 1; job < 2000; job++) registry_.BeginJob(kFamily, job, {});
  FlushFile(3000, 11);
  EXPECT_EQ(Others(), (std::vector<uint64_t>{11}));
}

TEST(Listener, ForgetsDatabasesThatAreClosed) {
  const auto listener = std::make_shared<Listener>();
  const TemporaryDirectory directory;
  for (int i = 0; i < 20; i++) {
    DbConfig config("rocksieve.auto:10");
    config.options.listeners.push_back(listener);
    const DbPtr db = Open(config.Build(), directory / std::to_string(i));
    Must(db->Put(rocksdb::WriteOptions(), "key", "value"));
    Flush(db.get());
    EXPECT_LE(listener->database_count(), 2u);
  }
}

class HistoryOf : public testing::Test {
 protected:
  // Builds a file; returns what the policy believes to be there beside it.
  std::vector<RegisteredFile> Build(int level, rocksdb::TableFileCreationReason reason,
                                    const RegisteredFile& file) {
    rocksdb::FilterBuildingContext context(table_);
    context.level_at_creation = level;
    context.column_family_name = kFamily;
    context.reason = reason;
    const FileTracker tracker = history_.NewTracker(context);
    Surroundings around;
    if (looks_) around = tracker.look(file, true);
    tracker.update(file);
    return around.others;
  }
  static double Entries(const std::vector<RegisteredFile>& files) {
    double entries = 0;
    for (const RegisteredFile& file : files) entries += static_cast<double>(file.entries);
    return entries;
  }

  static constexpr auto kFlush = rocksdb::TableFileCreationReason::kFlush;
  static constexpr auto kCompaction = rocksdb::TableFileCreationReason::kCompaction;
  const rocksdb::BlockBasedTableOptions table_{};
  History history_;
  bool looks_ = true;
};

TEST_F(HistoryOf, CompactionsReplaceWhatTheyOverlapAsFarAsTheyDo) {
  EXPECT_EQ(Entries(Build(0, kFlush, File(0, "000", "999"))), 0);
  EXPECT_EQ(Entries(Build(0, kFlush, File(0, "000", "999"))), 100);
  EXPECT_EQ(Entries(Build(0, kFlush, File(0, "000", "999"))), 200);
  // The first half of the output: half of the inputs is left.
  EXPECT_NEAR(Entries(Build(1, kCompaction, File(0, "000", "499", 150))), 150, 3);
  EXPECT_NEAR(Entries(Build(1, kCompaction, File(0, "500", "999", 150))), 150, 3);
  EXPECT_NEAR(Entries(Build(0, kFlush, File(0, "000", "999"))), 300, 3);
}

TEST_F(HistoryOf, CompactionsWithinLevel0TakeTheNewest) {
  for (int i = 0; i < 4; i++) Build(0, kFlush, File(0, "000", "999"));
  EXPECT_EQ(Entries(Build(0, kCompaction, File(0, "000", "999", 200))), 200);
}

TEST_F(HistoryOf, DeeperLevelsAreLeftAlone) {
  Build(3, kCompaction, File(0, "000", "999", 1000));
  EXPECT_EQ(Entries(Build(2, kCompaction, File(0, "000", "999"))), 1000);
}

TEST_F(HistoryOf, IsBounded) {
  looks_ = false;
  for (int i = 0; i < 10000; i++) {
    const std::string key = NumberedKey(i);
    Build(0, kFlush, File(0, key, key + "x", 1));
  }
  looks_ = true;
  EXPECT_LE(Entries(Build(0, kFlush, File(0, "a", "b"))), 8192);
}

}  // namespace
}  // namespace rocksieve
