// SPDX-License-Identifier: Apache-2.0
// What the journal of a database has (plugin/journal).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>

#include "integration/database.h"
#include "plugin/journal/change_journal.h"
#include "plugin/journal/journal_format.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;

// "XXH3-64" of the rest, as xxhsum -H3 has it.
constexpr const char* kGoldenLine =
    "52aa5fc8c5464e99 A1B2.OPTIONS-000012 in A1B2-11 A1B2-9 out A1B2-14\n";

TEST(JournalFormat, GoldenLine) {
  const JournalJob job = {"A1B2.OPTIONS-000012", {"A1B2-11", "A1B2-9"}, {"A1B2-14"}};
  EXPECT_EQ(kGoldenLine, JournalLineOf(job));
}

TEST(JournalFormat, LinesAreReadAsTheyWereWritten) {
  const std::vector<JournalJob> jobs = {{"A1B2.OPTIONS-000012", {"A1B2-11", "A1B2-9"}, {"A1B2-14"}},
                                        {"", {"A1B2-11"}, {}},
                                        {"in", {"A1B2-11"}, {"A-1", "B-2", "C-3"}}};
  for (const JournalJob& job : jobs) {
    std::string line = JournalLineOf(job);
    line.pop_back();
    JournalJob read;
    ASSERT_TRUE(ParseJournalLine(line, &read)) << line;
    EXPECT_EQ(job.inputs, read.inputs);
    EXPECT_EQ(job.outputs, read.outputs);
  }
}

TEST(JournalFormat, DamagedLinesAreNone) {
  std::string line = kGoldenLine;
  line.pop_back();
  JournalJob job;
  for (size_t i = 0; i < line.size(); i++) {
    for (const char other : {'0', ' ', 'x', '\0'}) {
      std::string damaged = line;
      damaged[i] = other;
      EXPECT_EQ(damaged == line, ParseJournalLine(damaged, &job)) << damaged;
    }
    EXPECT_FALSE(ParseJournalLine(line.substr(0, i), &job)) << i;
  }
}

TEST(JournalFormat, NamesAreNamesOfFiles) {
  EXPECT_EQ("6c5b964d9473ac1a-ABCDEF0123-7", JournalNameOf("default", "ABCDEF0123", 7));
  for (const char* session : {"", "../x", "a b", "a/b", "a.b", "a\nb"}) {
    EXPECT_EQ("", JournalNameOf("default", session, 7)) << session;
  }
  EXPECT_EQ("", JournalNameOf("default", std::string(65, 'A'), 7));
  EXPECT_EQ("", JournalNameOf("default", "ABCDEF0123", 0));
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(JournalDirectory, KeepsTheNewestFiles) {
  const TemporaryDirectory temporary;
  const std::string database = temporary / "";
  const JournalDirectory journal(database);
  const auto now = fs::file_time_type::clock::now();
  for (int i = 1; i <= 5; i++) {
    const std::string path = database + std::to_string(i);
    std::ofstream(path) << std::string(100, 'x');
    fs::last_write_time(path, now - std::chrono::seconds(10 - i));
    const uint64_t sequence = 70;
    journal.AddTable(path, "A-" + std::to_string(i), i == 4 ? &sequence : nullptr);
  }
  journal.Keep(299);
  EXPECT_EQ((std::vector<std::string>{"A-4.70.sst", "A-5.sst"}),
            NamesIn(database + kJournalDirectory));
  journal.Keep(0);
  EXPECT_TRUE(NamesIn(database + kJournalDirectory).empty());
}

TEST(JournalDirectory, LinesDoNotPileUp) {
  const TemporaryDirectory temporary;
  const std::string database = temporary / "";
  const JournalDirectory journal(database);
  const std::vector<std::string> many(20'000, "ABCDEFGHIJKLMNOPQRST-123456");
  for (int i = 0; i < 40; i++) journal.AddJob("A", many, many);
  uint64_t bytes = 0;
  for (const std::string& name : NamesIn(database + kJournalDirectory)) {
    bytes += fs::file_size(database + kJournalDirectory + ("/" + name));
  }
  EXPECT_LT(bytes, 3 * kMostJournalJobsBytes);
}

TEST(JournalDirectory, CannotBeMade) {
  const JournalDirectory journal("/proc/no such directory");
  journal.AddTable("/proc/self/exe", "A-1", nullptr);
  journal.AddJob("A", {"A-1"}, {"A-2"});
  journal.Keep(0);
}

TEST(Journal, IsTurnedOnByAString) {
  const TemporaryDirectory temporary;
  rocksdb::DBOptions base, options;
  base.create_if_missing = true;
  ASSERT_TRUE(rocksdb::GetDBOptionsFromString(rocksdb::ConfigOptions(), base,
                                              "listeners={rocksieve.journal:rocksieve.listener}",
                                              &options)
                  .ok());
  ASSERT_EQ(2u, options.listeners.size());
  rocksdb::DB* opened = nullptr;
  const std::string directory = temporary / "db";
  const rocksdb::Options all(options, rocksdb::ColumnFamilyOptions());
  ASSERT_TRUE(rocksdb::DB::Open(all, directory, &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(db->Put({}, "key", "value").ok());
    ASSERT_TRUE(db->Flush({}).ok());
  }
  rocksdb::CompactRangeOptions compact;
  compact.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_TRUE(db->CompactRange(compact, nullptr, nullptr).ok());
  const std::vector<std::string> names = NamesIn(directory + "/" + kJournalDirectory);
  const auto has = [&](const std::string& end) {
    return std::count_if(names.begin(), names.end(), [&](const std::string& name) {
      return name.find(end) != std::string::npos;
    });
  };
  EXPECT_EQ(2, has(".sst"));
  EXPECT_EQ(1, has(".OPTIONS-"));
  EXPECT_EQ(1, has("jobs"));
}

}  // namespace
}  // namespace rocksieve
