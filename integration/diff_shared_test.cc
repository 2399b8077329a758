// SPDX-License-Identifier: Apache-2.0
// States of one database that share table files, compared by the files that they do not share:
// checkpoints with and without logs, and the database itself, after random histories. Results are
// those of two scans.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksieve/join/diff.h>

#include "integration/database.h"
#include "integration/diff_api.h"
#include "integration/random_history.h"
#include "integration/seed.h"

namespace rocksieve::join {
namespace {

using rocksdb::Status;

std::vector<std::string> Compared(const std::string& here, const std::string& there,
                                  bool read_shared_files, DiffReport* report) {
  std::vector<std::string> lines;
  Input mine, theirs;
  EXPECT_TRUE(Input::OfDirectory(here, "", {}, &mine).ok());
  EXPECT_TRUE(Input::OfDirectory(there, "", {}, &theirs).ok());
  DiffOptions options;
  options.read_shared_files = read_shared_files;
  const Status status = Diff(
      mine, theirs, options,
      [&](const DifferentRow& row) {
        lines.push_back(LineOf(row));
        return Status::OK();
      },
      report);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return lines;
}

class DiffShared : public testing::TestWithParam<HistorySetting> {
 protected:
  std::string TakeCheckpoint() {
    rocksdb::Checkpoint* made = nullptr;
    EXPECT_TRUE(rocksdb::Checkpoint::Create(history_.db(), &made).ok());
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    const std::string path = directory_ + "checkpoint" + std::to_string(states_.size());
    // Half of them with the logs as they are.
    const Status status =
        checkpoint->CreateCheckpoint(path, history_.Below(2) == 0 ? 0 : uint64_t{1} << 40);
    EXPECT_TRUE(status.ok()) << status.ToString();
    // Not of the database: compactions may remove rows meanwhile.
    rocksdb::DB* opened = nullptr;
    Must(rocksdb::DB::OpenForReadOnly(history_.options(), path, &opened));
    const std::unique_ptr<rocksdb::DB> state(opened);
    states_[path] = RowsOf(state.get());
    return path;
  }

  // Returns the shared files that were not read.
  uint64_t ExpectExact(const std::string& here, const std::string& there) {
    SCOPED_TRACE(here + " and " + there);
    DiffReport report, full;
    const std::vector<std::string> expected = LinesOf(states_[here], states_[there]);
    EXPECT_EQ(Compared(here, there, /*read_shared_files=*/false, &report), expected);
    EXPECT_EQ(Compared(here, there, /*read_shared_files=*/true, &full), expected);
    EXPECT_EQ(0u, full.shared.files);
    EXPECT_EQ(report.local_only_rows, full.local_only_rows);
    EXPECT_EQ(report.remote_only_rows, full.remote_only_rows);
    EXPECT_EQ(report.changed_rows, full.changed_rows);
    EXPECT_LE(report.equal_rows, full.equal_rows);
    return report.shared.files;
  }

  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_ / "";
  RandomHistory history_{GetParam(), SeedOfThisRun(), directory_};
  std::map<std::string, Rows> states_;  // by their directories
};

TEST_P(DiffShared, IsThatOfTwoScans) {
  for (int i = 0; i < 60; i++) history_.Live(100);
  for (int i = 0; i < 5; i++) {
    TakeCheckpoint();
    const auto moments = static_cast<int>(history_.Below(4));
    for (int j = 0; j < moments; j++) history_.Live(static_cast<int>(history_.Below(200)));
  }
  uint64_t not_read = 0;
  for (const auto& [here, rows] : states_) {
    for (const auto& [there, others] : states_) {
      const uint64_t files = ExpectExact(here, there);
      if (here != there) not_read += files;
    }
  }
  if (GetParam().is_known) {
    EXPECT_LT(0u, not_read);
  }
  // The database itself, which is open and has memtables.
  Must(history_.db()->PauseBackgroundWork());
  states_[directory_ + "db"] = RowsOf(history_.db());
  ExpectExact(states_.begin()->first, directory_ + "db");
}

// Their sequence numbers come again in the log, which is then archived.
TEST(DiffSharedTransactions, IsThatOfTwoScans) {
  for (const int prepared : {1, 3}) {
    for (const int later : {1, 2, 3, 5}) {
      const TemporaryDirectory temporary;
      const std::string here = temporary / "here", there = temporary / "there";
      DbConfig config("rocksieve.bloom:10");
      config.options.WAL_ttl_seconds = 3600;
      rocksdb::TransactionDB* opened = nullptr;
      Must(rocksdb::TransactionDB::Open(config.Build(), {}, there, &opened));
      const std::unique_ptr<rocksdb::TransactionDB> db(opened);
      const auto put = [&](const std::string& key) {
        Must(db->Put(rocksdb::WriteOptions(), key, "1"));
      };
      put("a");
      rocksdb::Checkpoint* made = nullptr;
      Must(rocksdb::Checkpoint::Create(db.get(), &made));
      const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
      Must(checkpoint->CreateCheckpoint(here));
      const auto expect_rows = [&](int rows) {
        DiffReport report;
        const auto lines = Compared(here, there, /*read_shared_files=*/false, &report);
        EXPECT_EQ(lines.size(), static_cast<size_t>(rows)) << prepared << ", " << later;
      };
      const std::unique_ptr<rocksdb::Transaction> transaction(
          db->BeginTransaction(rocksdb::WriteOptions()));
      Must(transaction->SetName("transaction"));
      for (int i = 0; i < prepared; i++) Must(transaction->Put("b" + std::to_string(i), "2"));
      Must(transaction->Prepare());
      for (int i = 0; i < later; i++) put("c" + std::to_string(i));
      expect_rows(later);
      Must(transaction->Commit());
      expect_rows(later + prepared);
      Must(db->Flush(rocksdb::FlushOptions()));
      put("d");
      expect_rows(later + prepared + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, DiffShared, ::testing::ValuesIn(HistorySettings()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace rocksieve::join
