// SPDX-License-Identifier: Apache-2.0
// Comparisons with a server that go on from the one before: after random histories on both sides,
// mostly the same, and after all that can happen to a state. Results are those of two scans.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/utilities/checkpoint.h>

#include "integration/diff_state.h"

namespace rocksieve::join {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

using DiffState = DiffStateTest;

TEST_P(DiffState, IsThatOfTwoScans) {
  for (int i = 0; i < 30; i++) Live(100);
  EXPECT_FALSE(ExpectExact().only_changes);
  int only_changes = 0, by_journal = 0;
  for (int i = 0; i < 8; i++) {
    const auto moments = static_cast<int>(here_.Below(3));
    there_.Below(3);
    for (int j = 0; j < moments; j++) {
      const auto writes = static_cast<int>(here_.Below(60));
      there_.Below(60);
      Live(writes);
    }
    if (i % 2 == 0) Diverge();
    options_.values = here_.Below(2) == 0;
    there_.Below(2);
    const DiffReport report = ExpectExact();
    only_changes += report.only_changes;
    by_journal += report.by_journal;
  }
  const bool drops_rows = GetParam().forgets || GetParam().style == rocksdb::kCompactionStyleFIFO;
  if (!GetParam().journal || drops_rows) {
    EXPECT_EQ(0, by_journal);
  }
  if (GetParam().is_known) {
    EXPECT_LT(0, only_changes);
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, DiffState, ::testing::ValuesIn(HistorySettings()),
                         [](const auto& tested) { return tested.param.name; });

class DiffStateOnce : public DiffStateTest {
 protected:
  void Begin() {
    for (int i = 0; i < 30; i++) Live(100);
    Diverge();
    for (const RandomHistory* side : {&here_, &there_}) {
      Must(side->db()->CompactRange({}, nullptr, nullptr));
    }
    EXPECT_FALSE(ExpectExact().only_changes);
    for (const RandomHistory* side : {&here_, &there_}) {
      Must(side->db()->Put({}, "k00500", "the same"));
    }
    EXPECT_TRUE(ExpectExact().only_changes);
    Diverge();
  }
};

TEST_P(DiffStateOnce, TheServerHasLostItsState) {
  Begin();
  fs::remove_all(directory_ + "there_states");
  const DiffReport report = ExpectExact();
  EXPECT_FALSE(report.only_changes);
  EXPECT_NE(report.why_full.find("not kept any more"), std::string::npos) << report.why_full;
  EXPECT_TRUE(ExpectExact().only_changes);
}

TEST_P(DiffStateOnce, ThisSideHasLostItsState) {
  Begin();
  for (const auto& entry : fs::recursive_directory_iterator(directory_ + "here_states")) {
    if (entry.path().extension() == ".sst") fs::remove(entry.path());
  }
  EXPECT_FALSE(ExpectExact().only_changes);
  EXPECT_TRUE(ExpectExact().only_changes);
}

TEST_P(DiffStateOnce, TheFileIsDamaged) {
  Begin();
  for (const auto& entry : fs::directory_iterator(directory_ + "here_states")) {
    if (entry.path().extension() != ".state") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(30);
    file.put('x');
  }
  const DiffReport report = ExpectExact();
  EXPECT_NE(report.why_full.find("is damaged"), std::string::npos) << report.why_full;
}

TEST_P(DiffStateOnce, ABackupIsRestoredThere) {
  rocksdb::Checkpoint* made = nullptr;
  for (int i = 0; i < 10; i++) Live(100);
  Must(rocksdb::Checkpoint::Create(there_.db(), &made));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  Must(checkpoint->CreateCheckpoint(directory_ + "restored"));
  Begin();
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::Open(there_.options(), directory_ + "restored", &opened));
  const std::unique_ptr<rocksdb::DB> restored(opened);
  Serve(directory_ + "restored");
  ExpectExact(restored.get());
  Must(restored->Put({}, "k00001", "restored"));
  ExpectExact(restored.get());
}

TEST_P(DiffStateOnce, AllIsComparedNowAndThen) {
  Begin();
  options_.full_every = std::chrono::hours(0);
  const DiffReport report = ExpectExact();
  EXPECT_NE(report.why_full.find("hours ago"), std::string::npos) << report.why_full;
}

TEST_P(DiffStateOnce, TheServerKeepsNoStates) {
  ServedDatabase served;
  served.directory = directory_ + "there/db";
  server_.reset();
  Must(JoinServer::Start(served, "127.0.0.1:0", peer_.credentials, {}, &server_));
  peer_.addresses = {server_->address()};
  const Status status = Diff(input_, peer_, options_, {}, nullptr);
  EXPECT_NE(status.ToString().find("start it with --states=DIR"), std::string::npos)
      << status.ToString();
}

// One whose name in hexadecimal is longer than that of a file may be, and without rows.
TEST_P(DiffStateOnce, OfAColumnFamily) {
  peer_.column_family = std::string(200, 'n');
  for (const RandomHistory* side : {&here_, &there_}) {
    rocksdb::ColumnFamilyHandle* family = nullptr;
    Must(side->db()->CreateColumnFamily({}, peer_.column_family, &family));
    Must(side->db()->DestroyColumnFamilyHandle(family));
  }
  Must(Input::OfDirectory(directory_ + "here/db", peer_.column_family, {}, &input_));
  Serve(directory_ + "there/db");
  for (const char* why : {"there is no ", "no table file is one of the state that was kept"}) {
    DiffReport report;
    Must(Diff(input_, peer_, options_, {}, &report));
    EXPECT_NE(report.why_full.find(why), std::string::npos) << report.why_full;
  }
}

TEST_P(DiffStateOnce, BoundsAreRefused) {
  options_.join.begin = "a";
  EXPECT_TRUE(Diff(input_, peer_, options_, {}, nullptr).IsInvalidArgument());
}

// As many states as are used, whatever became of the comparisons.
TEST_P(DiffStateOnce, StatesDoNotPileUp) {
  for (int i = 0; i < 10; i++) {
    Live(20);
    ExpectExact();
    const Status ended = Diff(
        input_, peer_, options_, [](const DifferentRow&) { return Status::Aborted(); }, nullptr);
  }
  const auto count = [&](const std::string& directory) {
    const auto states = fs::directory_iterator(fs::directory_iterator(directory)->path());
    return std::distance(fs::begin(states), fs::end(states));
  };
  fs::remove(directory_ + "here_states/64656661756c74.state");
  EXPECT_EQ(1, count(directory_ + "here_states"));
  EXPECT_LE(count(directory_ + "there_states"), 4);
}

INSTANTIATE_TEST_SUITE_P(Levels, DiffStateOnce, ::testing::Values(HistorySettings().front()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace rocksieve::join
