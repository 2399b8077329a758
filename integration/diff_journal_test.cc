// SPDX-License-Identifier: Apache-2.0
// Comparisons that go on from the one before, of databases with a journal, and with all that it may
// miss. Results are those of two scans.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/utilities/checkpoint.h>

#include "integration/diff_state.h"

namespace rocksieve::join {
namespace {

namespace fs = std::filesystem;
using rocksdb::Slice;

constexpr auto kLinks = fs::copy_options::recursive | fs::copy_options::create_hard_links;

class RemovesSome final : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "RemovesSome"; }
  bool Filter(int, const Slice& key, const Slice&, std::string*, bool*) const override {
    return key.ends_with("7");
  }
};

// Both sides begin alike, and are compared.
class DiffJournal : public DiffStateTest {
 protected:
  void SetUp() override {
    DiffStateTest::SetUp();
    if (IsSkipped()) return;
    for (int i = 0; i < 30; i++) Live(100);
    Diverge();
    Compact();
    EXPECT_FALSE(ExpectExact().only_changes);
    Change();
    EXPECT_TRUE(ExpectExact().by_journal);
    Change();
  }

  // More is rewritten by the compaction than was written.
  void Change() {
    for (const RandomHistory* side : {&here_, &there_}) {
      for (int i = 0; i < 5; i++) {
        Must(side->db()->Put({}, "k0" + std::to_string(1000 + 17 * changes_ + i), "changed"));
      }
      Must(side->db()->Delete({}, "k0" + std::to_string(2000 + changes_)));
      Must(side->db()->Flush({}));
    }
    changes_++;
    Compact();
  }
  void Compact() {
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    for (const RandomHistory* side : {&here_, &there_}) {
      Must(side->db()->CompactRange(all, nullptr, nullptr));
    }
  }

  rocksdb::Options Without(bool journal) const {
    rocksdb::Options options = here_.options();
    if (!journal) options.listeners.clear();
    return options;
  }

  // What was missed is noticed; and what comes afterwards is in the journal again.
  void ExpectGap() {
    EXPECT_FALSE(ExpectExact().by_journal);
    Change();
    EXPECT_TRUE(ExpectExact().by_journal);
  }

  std::string Journal() const { return directory_ + "here/db/rocksieve.journal/"; }
  std::vector<fs::path> FilesOf(const std::string& directory, const std::string& extension) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() == extension) files.push_back(entry.path());
    }
    return files;
  }

  int changes_ = 0;
};

TEST_P(DiffJournal, HasAllThatWasWritten) {
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(ExpectExact().by_journal);
    Change();
    Diverge();
    Compact();
  }
}

TEST_P(DiffJournal, OutlivesTheProcess) {
  here_.Reopen(here_.options());
  Must(here_.db()->Put({}, "k00001", "in another one"));
  here_.Reopen(here_.options());  // and flushes what is in the log
  Compact();
  EXPECT_TRUE(ExpectExact().by_journal);
}

TEST_P(DiffJournal, HasIngestedFiles) {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), here_.options());
  const std::string path = directory_ + "ingested";
  Must(writer.Open(path));
  Must(writer.Put("k00500", "ingested"));
  Must(writer.Delete("k01000"));
  Must(writer.Finish());
  Must(here_.db()->IngestExternalFile({path}, {}));
  Compact();
  EXPECT_TRUE(ExpectExact().by_journal);
}

TEST_P(DiffJournal, AnotherProcessWrites) {
  here_.Reopen(Without(/*journal=*/false));
  Must(here_.db()->Put({}, "k00001", "without a journal"));
  Must(here_.db()->Flush({}));
  here_.Reopen(here_.options());
  Compact();
  ExpectGap();
}

TEST_P(DiffJournal, AnotherProcessCompacts) {
  here_.Reopen(Without(/*journal=*/false));
  Must(here_.db()->Put({}, "k00001", "without a journal"));
  Compact();
  here_.Reopen(here_.options());
  ExpectGap();
}

TEST_P(DiffJournal, AnotherProcessIngests) {
  here_.Reopen(Without(/*journal=*/false));
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), here_.options());
  const std::string path = directory_ + "ingested";
  Must(writer.Open(path));
  Must(writer.Put("k00500", "ingested"));
  Must(writer.Finish());
  Must(here_.db()->IngestExternalFile({path}, {}));
  here_.Reopen(here_.options());
  Compact();
  ExpectGap();
}

TEST_P(DiffJournal, FilesAreDropped) {
  const Slice begin = "k00200", end = "k01800";
  Must(rocksdb::DeleteFilesInRange(here_.db(), here_.db()->DefaultColumnFamily(), &begin, &end));
  ExpectGap();
}

TEST_P(DiffJournal, ACompactionFilterRemovesRows) {
  const RemovesSome filter;
  rocksdb::Options options = here_.options();
  options.compaction_filter = &filter;
  here_.Reopen(options);
  Compact();
  here_.Reopen(here_.options());
  Compact();
  ExpectGap();
}

// As if RocksDB had not been able to write those of this session.
TEST_P(DiffJournal, TheOptionsAreOfAnEarlierSession) {
  fs::last_write_time(directory_ + "here/db/CURRENT",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  Compact();
  EXPECT_FALSE(ExpectExact().by_journal);
}

TEST_P(DiffJournal, RowsAreMerged) {
  Must(here_.db()->Merge({}, "m", "operand"));
  Compact();
  ExpectGap();
}

TEST_P(DiffJournal, TheLogIsLost) {
  Must(here_.db()->Put({}, "k00001", "lost"));
  EXPECT_FALSE(ExpectExact().equal_rows == 0);  // the state has it
  Must(here_.db()->Put({}, "k00002", "lost"));
  here_.Close();
  for (const fs::path& log : FilesOf(directory_ + "here/db", ".log")) fs::remove(log);
  here_.Reopen(here_.options());
  Change();
  EXPECT_TRUE(ExpectExact().by_journal);
}

TEST_P(DiffJournal, LinesAreLost) {
  fs::remove(Journal() + "jobs");
  ExpectGap();
}

TEST_P(DiffJournal, ALineIsDamaged) {
  std::fstream jobs(Journal() + "jobs", std::ios::in | std::ios::out | std::ios::binary);
  jobs.seekp(-20, std::ios::end);
  jobs.put('!');
  jobs.close();
  ExpectGap();
}

TEST_P(DiffJournal, FilesOfItAreLost) {
  for (const fs::path& table : FilesOf(Journal(), ".sst")) fs::remove(table);
  ExpectGap();
}

TEST_P(DiffJournal, FilesOfItAreDamaged) {
  for (const fs::path& table : FilesOf(Journal(), ".sst")) {
    fs::remove(table);
    std::ofstream(table) << "no table";
  }
  ExpectGap();
}

// With the journal of what is no more.
TEST_P(DiffJournal, ABackupIsRestored) {
  rocksdb::Checkpoint* made = nullptr;
  Must(rocksdb::Checkpoint::Create(here_.db(), &made));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  Must(checkpoint->CreateCheckpoint(directory_ + "backup"));
  Change();
  Diverge();
  Compact();
  EXPECT_TRUE(ExpectExact().by_journal);
  Change();
  here_.Close();
  const std::string database = directory_ + "here/db";
  fs::rename(database, directory_ + "lost");
  fs::copy(directory_ + "backup", database, kLinks);
  fs::copy(directory_ + "lost/rocksieve.journal", database + "/rocksieve.journal", kLinks);
  here_.Reopen(here_.options());
  Must(here_.db()->Put({}, "k00001", "after the backup"));
  Compact();
  ExpectGap();
}

std::vector<HistorySetting> SettingsWithJournal() {
  std::vector<HistorySetting> settings;
  for (const HistorySetting& setting : HistorySettings()) {
    const bool has_merges = setting.merges && !setting.only_plain;
    const bool drops_rows = setting.forgets || setting.style == rocksdb::kCompactionStyleFIFO;
    if (setting.journal && !has_merges && !drops_rows) {
      settings.push_back(setting);
    }
  }
  return settings;
}

INSTANTIATE_TEST_SUITE_P(Settings, DiffJournal, ::testing::ValuesIn(SettingsWithJournal()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace rocksieve::join
