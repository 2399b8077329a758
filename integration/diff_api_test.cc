// SPDX-License-Identifier: Apache-2.0
// Comparisons of databases by the public API alone, with a server and without; results are compared
// with those of maps.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/comparator.h>
#include <rocksdb/wide_columns.h>
#include <rocksieve/join/diff.h>

#include "integration/diff_api.h"

namespace rocksieve::join {
namespace {

using rocksdb::Status;

TEST_F(DiffApi, FindsEveryDifferenceAndNoOther) {
  const Peer peer = Serve();
  DiffReport report, local_report;
  const std::vector<std::string> expected = LinesOf(here_, there_);
  EXPECT_EQ(Lines(Here(), peer, {}, &report), expected);
  EXPECT_EQ(Lines(Here(), There(), {}, &local_report), expected);
  for (const DiffReport& found : {report, local_report}) {
    EXPECT_EQ(found.verdict, Verdict::kDifferent);
    EXPECT_EQ(found.equal_rows, 0u);  // all values differ
    EXPECT_EQ(found.local_only_rows, RowsOf(here_, there_, false).size());
    EXPECT_EQ(found.remote_only_rows, RowsOf(there_, here_, false).size());
    EXPECT_EQ(found.changed_rows, RowsOf(here_, there_, true).size());
    EXPECT_EQ(found.looks, 0u);
  }
  MakeAlike();
  EXPECT_EQ(Lines(Here(), peer, {}, &report), std::vector<std::string>());
  EXPECT_EQ(Lines(Here(), There(), {}, &local_report), std::vector<std::string>());
  for (const DiffReport& found : {report, local_report}) {
    EXPECT_EQ(found.verdict, Verdict::kMatch);
    EXPECT_EQ(found.equal_rows, there_.size());
  }
}

TEST_F(DiffApi, FindsEveryKindOfPlantedFault) {
  MakeAlike();
  const auto entity = [](rocksdb::DB* db, const std::string& key,
                         const rocksdb::WideColumns& columns) {
    EXPECT_TRUE(
        db->PutEntity(rocksdb::WriteOptions(), db->DefaultColumnFamily(), key, columns).ok());
  };
  const std::string large(size_t{64} << 20, 'x');
  const std::string zeros("\0key\0", 5), mark("\xF7rswcol\xFE", 8);
  for (rocksdb::DB* db : {here_db_.get(), there_db_.get()}) {
    entity(db, "a: entity", {{"", "v"}, {"c1", "x"}, {"c2", "y"}});
    entity(db, "b: entity", {{"c1", "x"}});
    entity(db, "c: only the default", {{"", "v"}});
    Put(db, "d: empty", "");
    Put(db, "e: large", large);
    Put(db, zeros, "zeros");
    Put(db, zeros + "\xFF", "zeros");
    Put(db, "", "the empty key");
    Put(db, "f: like an entity", mark + "\x01");
  }
  rocksdb::DB* const db = here_db_.get();
  EXPECT_EQ(Lines(Here(), Serve()), std::vector<std::string>());
  entity(db, "a: entity", {{"", "v"}, {"c1", "x"}, {"c2", "other"}});
  entity(db, "b: entity", {{"c2", "x"}});
  Put(db, "c: only the default", "v");  // as there
  Put(db, "d: empty", "not");
  Put(db, "e: large", large.substr(1) + "y");
  Put(db, zeros, "ones");
  ASSERT_TRUE(db->Delete(rocksdb::WriteOptions(), "").ok());
  entity(db, "f: like an entity", {});
  Put(db, "g: extra", "1");
  Put(there_db_.get(), "h: lost", "2");
  const std::vector<std::string> expected = {"> =the empty key",
                                             "| " + zeros + "=ones=zeros",
                                             "| a: entity=[=v][c1=x][c2=other]=[=v][c1=x][c2=y]",
                                             "| b: entity=[c2=x]=[c1=x]",
                                             "| d: empty=not=",
                                             "| e: large=" + large.substr(1) + "y=" + large,
                                             "| f: like an entity==" + mark + "\x01",
                                             "< g: extra=1",
                                             "> h: lost=2"};
  DiffOptions options;
  EXPECT_TRUE(Lines(Here(), Serve(), options) == expected);
  EXPECT_TRUE(Lines(Here(), There(), options) == expected);
  // Values of the other side stay there, if they are not wanted.
  options.values = false;
  DiffReport report;
  const std::vector<std::string> keys = Lines(Here(), Serve(), options, &report);
  ASSERT_EQ(keys.size(), expected.size());
  EXPECT_EQ(keys.front(), "> ");
  EXPECT_EQ(keys[1], "| " + zeros + "=ones");
  EXPECT_LT(report.join.wire_bytes_received, 20000u);
}

TEST_F(DiffApi, BoundsAreThoseOfKeys) {
  const Peer peer = Serve();
  Rows some_here(here_.lower_bound("key3"), here_.lower_bound("key6"));
  Rows some_there(there_.lower_bound("key3"), there_.lower_bound("key6"));
  DiffOptions options;
  options.join.begin = "key3";
  options.join.end = "key6";
  EXPECT_EQ(Lines(Here(), peer, options), LinesOf(some_here, some_there));
  EXPECT_EQ(Lines(Here(), There(), options), LinesOf(some_here, some_there));
  options.join.keys_per_range = 7;  // the rows of a key may lie in two ranges
  EXPECT_EQ(Lines(Here(), peer, options), LinesOf(some_here, some_there));
}

TEST_F(DiffApi, RowsThatAreBeingWrittenHaveNotDiverged) {
  MakeAlike();
  const Peer peer = Serve();
  Put(here_db_.get(), "late", "old");
  Put(there_db_.get(), "late", "new");
  Put(here_db_.get(), "lost there", "1");
  Put(there_db_.get(), "lost here", "2");
  Put(here_db_.get(), "written", "0");
  Put(here_db_.get(), "written for good", "0");
  DiffOptions options;
  options.recheck = std::chrono::milliseconds(2500);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    Put(here_db_.get(), "late", "new");  // the replica comes after
    for (int i = 1; !done; i++) {
      Put(here_db_.get(), "written", std::to_string(i));
      if (i == 3) Put(there_db_.get(), "written for good", "0");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  DiffReport report;
  const std::vector<std::string> lines = Lines(Here(), peer, options, &report);
  done = true;
  writer.join();
  EXPECT_EQ(lines, (std::vector<std::string>{"transient | late=old=new", "diverged > lost here=2",
                                             "diverged < lost there=1", "transient < written=0",
                                             "transient < written for good=0"}));
  EXPECT_EQ(report.verdict, Verdict::kDiverged);
  EXPECT_EQ(report.transient_rows, 3u);
  EXPECT_EQ(report.diverged_rows, 2u);
  EXPECT_EQ(report.looks, 2u);
  EXPECT_GT(report.recheck_bytes_sent, 0u);
  // Only rows that differed are read again.
  EXPECT_LT(report.recheck_bytes_received, 5000u);

  options.recheck = std::chrono::milliseconds(10);
  options.most_rechecked = 1;
  Put(here_db_.get(), "written", "0");
  EXPECT_EQ(Lines(Here(), There(), options, &report),
            (std::vector<std::string>{"diverged > lost here=2", "< lost there=1", "< written=0"}));
  EXPECT_EQ(report.verdict, Verdict::kDiverged);
}

TEST_F(DiffApi, ManyRowsAreLookedAtAgain) {
  MakeAlike();
  const Peer peer = Serve();
  for (int i = 0; i < 2000; i++) Put(here_db_.get(), "key" + std::to_string(50 * i), "x");
  DiffOptions options;
  options.recheck = std::chrono::milliseconds(1);
  DiffReport report;
  Lines(Here(), peer, options, &report);
  EXPECT_EQ(report.diverged_rows, 2000u);
  EXPECT_EQ(report.equal_rows + report.changed_rows, there_.size());
}

// A row, when the callback that had it is over.
struct KeptRow {
  explicit KeptRow(const DifferentRow& row)
      : row_(row), key_(row.key), local_(row.local_value), remote_(row.remote_value) {}
  DifferentRow Row() const {
    DifferentRow row = row_;
    row.key = key_;
    if (local_) row.local_value = *local_;
    if (remote_) row.remote_value = *remote_;
    return row;
  }

 private:
  DifferentRow row_;
  std::string key_;
  std::optional<std::string> local_, remote_;
};

// Ends itself again and again, and another one goes on where it was: in the end, what one would
// have found.
template <typename Other>
std::vector<std::string> LinesInParts(const Input& input, const Other& other, DiffOptions options,
                                      std::mt19937* random, int* parts, uint64_t* equal_rows) {
  std::vector<std::string> lines;
  std::vector<KeptRow> found;
  *equal_rows = 0;
  for (*parts = 1;; ++*parts) {
    DiffProgress last;
    size_t found_before = found.size(), left = (*random)() % 100;
    options.proven = [&](const DiffProgress& progress) {
      EXPECT_LE(last.next_key, progress.next_key);
      last = progress;
      found_before = found.size();
      return left-- == 0 ? Status::Aborted("enough") : Status::OK();
    };
    options.found = [&](const DifferentRow& row) {
      found.emplace_back(row);
      return Status::OK();
    };
    options.found_before = [&found](const DifferenceCallback& take) {
      const std::vector<KeptRow> rows = found;
      Status status;
      for (const KeptRow& row : rows) {
        if (status.ok()) status = take(row.Row());
      }
      return status;
    };
    DiffReport report;
    const Status status = Diff(
        input, other, options,
        [&lines](const DifferentRow& row) {
          lines.push_back(LineOf(row));
          return Status::OK();
        },
        &report);
    if (status.ok()) {
      *equal_rows += report.equal_rows;
      return lines;
    }
    EXPECT_TRUE(status.IsAborted()) << status.ToString();
    *equal_rows += last.equal_rows;
    options.join.begin = last.next_key;
    found.erase(found.begin() + static_cast<ptrdiff_t>(found_before), found.end());
  }
}

TEST_F(DiffApi, AnotherOneGoesOnWhereItWas) {
  for (const auto& [key, value] : there_) {
    if (key.back() == '7') Put(here_db_.get(), key, value);
  }
  for (int i = 0; i < 30; i++) {  // so large that two inputs are compared in parts as well
    Put(here_db_.get(), "large" + std::to_string(i), std::string(300000, 'a'));
    Put(there_db_.get(), "large" + std::to_string(i), std::string(300000, i % 3 == 0 ? 'a' : 'b'));
  }
  const Peer peer = Serve();
  std::mt19937 random(SeedOfThisRun());
  DiffOptions options;
  options.join.keys_per_range = 7;
  for (const bool rechecks : {false, true}) {
    options.recheck = std::chrono::milliseconds(rechecks ? 1 : 0);
    DiffReport report;
    const std::vector<std::string> expected = Lines(Here(), There(), options, &report);
    EXPECT_GT(report.equal_rows, 100u);
    int parts = 0;
    uint64_t equal_rows = 0;
    EXPECT_TRUE(LinesInParts(Here(), peer, options, &random, &parts, &equal_rows) == expected);
    EXPECT_EQ(equal_rows, report.equal_rows);
    EXPECT_GT(parts, 3);
    EXPECT_TRUE(LinesInParts(Here(), There(), options, &random, &parts, &equal_rows) == expected);
    EXPECT_EQ(equal_rows, report.equal_rows);
  }
}

TEST_F(DiffApi, DirectoriesOfAnotherOrderAreComparedToo) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.comparator = rocksdb::ReverseBytewiseComparator();
  std::unique_ptr<rocksdb::DB> reverse;
  ASSERT_TRUE(rocksdb::DB::Open(options, directory_ + "/reverse", Into(&reverse)).ok());
  for (const auto& [key, value] : there_) Put(reverse.get(), key, value);
  Put(reverse.get(), "key1", "changed");
  Rows changed = there_;
  changed["key1"] = "changed";
  Input there, here;
  ASSERT_TRUE(Input::OfDatabase(reverse.get(), nullptr, {}, {}, &there).ok());
  ASSERT_TRUE(Input::OfDirectory(directory_ + "/here", "", {}, &here).ok());
  EXPECT_EQ(Lines(here, there), LinesOf(here_, changed));
  EXPECT_EQ(Lines(there, Serve()), LinesOf(changed, there_));
}

TEST_F(DiffApi, SaysWhatItCannotDo) {
  Peer peer = Serve();
  InputOptions by_value;
  by_value.on = "value";
  const auto error = [&](const Input& input, const Peer& with) {
    const Status status = Diff(input, with, DiffOptions(), nullptr, nullptr);
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    return status.ToString();
  };
  EXPECT_NE(error(Here({}, by_value), peer).find("without InputOptions::on"), std::string::npos);
  EXPECT_NE(error(Input(), peer).find("without InputOptions::on"), std::string::npos);
  peer.on = "value";
  EXPECT_NE(error(Here(), peer).find("with one server"), std::string::npos);
  peer.on.clear();
  peer.addresses.push_back("127.0.0.1:1");
  EXPECT_NE(error(Here(), peer).find("with one server"), std::string::npos);

  const Status own = Status::Incomplete("enough");
  peer.addresses.pop_back();
  const Status ended = Diff(
      Here(), peer, DiffOptions(), [&](const DifferentRow&) { return own; }, nullptr);
  EXPECT_EQ(ended.ToString(), own.ToString());
  ReadableValue readable;
  EXPECT_FALSE(ReadValue("\xF7rswcol\xFE\x02", &readable).ok());
  EXPECT_FALSE(ReadValue("\xF7rswcol\xFE\x01\x09name", &readable).ok());
}

TEST_F(DiffApi, DamageIsNoDifference) {
  MakeAlike();
  const Peer peer = Serve();
  for (rocksdb::DB* db : {here_db_.get(), there_db_.get()}) {
    ASSERT_TRUE(db->Flush(rocksdb::FlushOptions()).ok());
  }
  std::vector<rocksdb::LiveFileMetaData> files;
  here_db_->GetLiveFilesMetaData(&files);
  ASSERT_EQ(files.size(), 1u);
  here_db_.reset();
  const std::string path = directory_ + "/here" + files[0].name;
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file << "damage";
  }
  Input here;
  ASSERT_TRUE(Input::OfDirectory(directory_ + "/here", "", {}, &here).ok());
  for (const auto& compare : std::vector<std::function<Status()>>{
           [&] { return Diff(here, peer, DiffOptions(), nullptr, nullptr); },
           [&] { return Diff(here, There(), DiffOptions(), nullptr, nullptr); }}) {
    const Status status = compare();
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_NE(status.ToString().find(files[0].name), std::string::npos) << status.ToString();
  }
}

}  // namespace
}  // namespace rocksieve::join
