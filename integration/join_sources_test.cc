// SPDX-License-Identifier: Apache-2.0
// Column families and SST files as sources of a join, held against what is written to them; SST
// files as sinks.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include "integration/join_support.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/server_session.h"
#include "plugin/join/rocksdb_source.h"
#include "plugin/join/sst_file.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {
namespace {

using rocksieve::Open;  // a message of the protocol has that name as well

TEST(RocksDbSource, ShowsWhatGetWouldFind) {
  Random random = SeededRandom(1);
  for (int round = 0; round < 5; round++) {
    TemporaryDirectory directory;
    const DbPtr db = Open(OptionsOf(), directory / "db");
    Model model;
    for (int part = 0; part < 6; part++) {
      WriteAtRandom(db.get(), db->DefaultColumnFamily(), 300, random, &model);
      ExpectHolds(db.get(), model);
      const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
      Must(source.status());
      ExpectShows(source->get(), model);
      for (int i = 0; i < 30; i++) {
        KeyInterval interval{RandomKey(random), std::nullopt};
        if (i % 3 != 0) interval.end = RandomKey(random);
        if (interval.end && *interval.end < interval.begin) continue;
        ExpectShows(source->get(), model, interval);
      }
    }
  }
}

TEST(RocksDbSource, StaysAsItWasWhateverIsWritten) {
  TemporaryDirectory directory;
  Random random = SeededRandom(2);
  const DbPtr db = Open(OptionsOf(), directory / "db");
  rocksdb::ColumnFamilyHandle* const family = db->DefaultColumnFamily();
  Model model;
  WriteAtRandom(db.get(), family, 2000, random, &model);
  const auto source = RocksDbSource::Open(db.get(), family);
  Must(source.status());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    Random other(3);
    Model unused;
    while (!stop) WriteAtRandom(db.get(), family, 200, other, &unused);
  });
  // More scans at once than there are pinned iterators.
  std::vector<std::unique_ptr<Cursor>> open;
  Row row;
  for (int i = 0; i < 10; i++) {
    open.push_back((*source)->Scan({}));
    ASSERT_TRUE(open.back()->Next(&row));
    ExpectShows(source->get(), model);
  }
  open.clear();
  for (int i = 0; i < 20; i++) ExpectShows(source->get(), model);
  stop = true;
  writer.join();
}

// What RocksDB's snapshots do not respect.
TEST(RocksDbSource, StaysAsItWasWhenFilesAreDropped) {
  TemporaryDirectory directory;
  const DbPtr db = Open(OptionsOf(), directory / "db");
  const Model model = WriteOverlappingFiles(db.get(), 2000, 4);
  Compact(db.get());
  const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
  Must(source.status());
  Must(rocksdb::DeleteFilesInRange(db.get(), db->DefaultColumnFamily(), nullptr, nullptr));
  ExpectHolds(db.get(), {});
  // Iterators beyond those pinned do not see it, and must not be taken for pinned ones later.
  {
    std::vector<std::unique_ptr<Cursor>> open;
    for (int i = 0; i < 20; i++) open.push_back((*source)->Scan({}));
  }
  for (int i = 0; i < 10; i++) ExpectShows(source->get(), model);
}

TEST(RocksDbSource, KeepsToItsIntervalAndColumnFamily) {
  TemporaryDirectory directory;
  const DbPtr db = Open(OptionsOf(), directory / "db");
  rocksdb::ColumnFamilyHandle* other = nullptr;
  Must(db->CreateColumnFamily(OptionsOf(), "other", &other));
  Model model;
  for (int i = 0; i < 5000; i++) {
    Must(db->Put(rocksdb::WriteOptions(), other, PresentKey(i), "other"));
    Must(db->Put(rocksdb::WriteOptions(), MissingKey(i), "default"));
    if (i >= 1000 && i < 2000) model[PresentKey(i)] = "other";
  }
  Must(db->Flush(rocksdb::FlushOptions(), other));
  RocksDbSourceOptions options;
  options.interval = {PresentKey(1000), PresentKey(2000)};
  const auto source = RocksDbSource::Open(db.get(), other, options);
  Must(source.status());
  ExpectShows(source->get(), model);
  ExpectShows(source->get(), model, {PresentKey(1500), PresentKey(3000)});
  EXPECT_NEAR(static_cast<double>((*source)->EstimateKeys()), 1000, 400);
  const auto all = RocksDbSource::Open(db.get(), other);
  EXPECT_EQ((*all)->EstimateKeys(), 5000u);
  Must(db->DestroyColumnFamilyHandle(other));
}

TEST(RocksDbSource, ShowsEmptyAndGiantRows) {
  TemporaryDirectory directory;
  const DbPtr db = Open(OptionsOf(), directory / "db");
  const Model model = {
      {"", ""}, {"a", std::string(16 << 20, 'x')}, {std::string(1 << 20, 'k'), ""}};
  for (bool flushed : {false, true}) {
    for (const auto& [key, value] : model) Must(db->Put(rocksdb::WriteOptions(), key, value));
    if (flushed) Flush(db.get());
    const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
    Must(source.status());
    ExpectShows(source->get(), model);
  }
}

TEST(RocksDbSource, RefusesOtherOrdersUnlessTheyAreSortedAnew) {
  TemporaryDirectory directory;
  rocksdb::Options options = OptionsOf();
  options.comparator = rocksdb::ReverseBytewiseComparator();
  options.prefix_extractor.reset();
  const DbPtr db = Open(options, directory / "db");
  const Model model = WriteOverlappingFiles(db.get(), 500, 2);
  const absl::Status refused = RocksDbSource::Open(db.get(), db->DefaultColumnFamily()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_NE(refused.message().find("leveldb.BytewiseComparator"), absl::string_view::npos);
  EXPECT_NE(refused.message().find("key.bytes(0)"), absl::string_view::npos) << refused;
  RocksDbSourceOptions any;
  any.any_order = true;
  const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily(), any);
  Must(source.status());
  const auto sorted = JoinKeySource::Sort(source->get(), *JoinKeyExpression::Parse("key.bytes(0)"));
  Must(sorted.status());
  const std::unique_ptr<Cursor> cursor = (*sorted)->Scan({});
  Row row;
  for (const auto& [key, value] : model) ASSERT_TRUE(cursor->Next(&row) && row.key == key);
  EXPECT_FALSE(cursor->Next(&row));
}

void Damage(const rocksdb::LiveFileMetaData& file, int offset) {
  std::fstream table(file.db_path + file.name, std::ios::in | std::ios::out | std::ios::binary);
  table.seekp(offset).write("\x55\xaa", 2);
}

TEST(RocksDbSource, SaysThatAFileIsDamaged) {
  TemporaryDirectory directory;
  const DbPtr db = Open(OptionsOf(), directory / "db");
  Must(db->Put(rocksdb::WriteOptions(), "a", "fine"));
  Flush(db.get());
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  Damage(files.at(0), 5);
  const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
  Must(source.status());
  const std::unique_ptr<Cursor> cursor = (*source)->Scan({});
  Row row;
  EXPECT_FALSE(cursor->Next(&row));
  EXPECT_TRUE(absl::IsDataLoss(cursor->status())) << cursor->status();
  EXPECT_NE(cursor->status().message().find("\"default\""), absl::string_view::npos);
}

// By RocksDB's iterator too, since a row is not flushed; before 8.3.3 it leaves out, without a
// word, a file whose first block is damaged.
void ExpectLaterDamageIsFound(const rocksdb::Comparator* order, uint32_t format_version,
                              bool any_order) {
  TemporaryDirectory directory;
  rocksdb::Options options = OptionsOf();
  options.target_file_size_base = 20'000;
  options.compression = rocksdb::kNoCompression;
  options.comparator = order;
  options.prefix_extractor.reset();
  rocksdb::BlockBasedTableOptions table_options;
  table_options.format_version = format_version;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options));
  const DbPtr db = Open(options, directory / "db");
  const std::string value(100, 'v');
  for (int i = 0; i < 1000; i++) Must(db->Put(rocksdb::WriteOptions(), NumberedKey(i), value));
  rocksdb::CompactRangeOptions all;  // not moved as it is
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  Must(db->CompactRange(all, nullptr, nullptr));
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  ASSERT_GT(files.size(), 3u);
  Must(db->Put(rocksdb::WriteOptions(), "not flushed", ""));
  RocksDbSourceOptions scan;
  scan.any_order = any_order;
  const auto scanned = [&](const KeyInterval& interval) {
    const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily(), scan);
    Must(source.status());
    EXPECT_NE((*source)->why_not_walked(), "");
    const std::unique_ptr<Cursor> cursor = (*source)->Scan(interval);
    for (Row row; cursor->Next(&row);) continue;
    return cursor->status();
  };
  EXPECT_TRUE(scanned({}).ok()) << scanned({});
  Damage(files[2], 50);
  EXPECT_TRUE(absl::IsDataLoss(scanned({}))) << scanned({});
  EXPECT_TRUE(any_order || scanned({"", files[1].smallestkey}).ok());
}

TEST(RocksDbSource, SaysThatALaterFileIsDamaged) {
  for (uint32_t format_version : {0, 1, 5}) {
    ExpectLaterDamageIsFound(rocksdb::BytewiseComparator(), format_version, /*any_order=*/false);
  }
  ExpectLaterDamageIsFound(rocksdb::BytewiseComparator(), 5, /*any_order=*/true);
  ExpectLaterDamageIsFound(rocksdb::ReverseBytewiseComparator(), 5, /*any_order=*/true);
}

class FailingMerges : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*, const rocksdb::Slice&, std::string*,
             rocksdb::Logger*) const override {
    return false;
  }
  const char* Name() const override { return "FailingMerges"; }
};

// RocksDB calls it a corruption, which it is not.
TEST(RocksDbSource, AMergeThatFailsIsNoDamage) {
  TemporaryDirectory directory;
  rocksdb::Options options = OptionsOf();
  options.merge_operator = std::make_shared<FailingMerges>();
  const DbPtr db = Open(options, directory / "db");
  Must(db->Merge(rocksdb::WriteOptions(), "key", "operand"));
  const auto source = RocksDbSource::Open(db.get(), db->DefaultColumnFamily());
  Must(source.status());
  const auto cursor = (*source)->Scan({});
  for (Row row; cursor->Next(&row);) continue;
  const std::string said(cursor->status().message());
  EXPECT_NE(said.find("merge operator of its program is not in this one, or failed"), said.npos)
      << said;
  EXPECT_EQ(said.find("damaged"), said.npos) << said;
}

absl::Status Difference(Source* here, Source* there, Sink* sink) {
  ClientSessionOptions options;
  options.operation = Operation::kDifference;
  options.salt = 5;
  options.keys_per_range = 500;
  ClientSession client(here, sink, options);
  ServerSession server(there, {});
  const absl::Status status = RunPipe(&client, &server).status;
  EXPECT_TRUE(client.done()) << status;
  return status;
}

bool HasTemporaryFiles(const std::filesystem::path& beside) {
  for (const auto& entry : std::filesystem::directory_iterator(beside.parent_path())) {
    if (entry.path().extension() == ".tmp") return true;
  }
  return false;
}

TEST(SstSource, ShowsAFileOfADatabase) {
  TemporaryDirectory directory;
  const rocksdb::Options options = OptionsOf();
  const DbPtr db = Open(options, directory / "db");
  Model model;
  // The snapshots keep older versions, and merges, in the file.
  const rocksdb::Snapshot* snapshots[2];
  for (int i = 0; i < 3000; i++) Must(db->Put(rocksdb::WriteOptions(), PresentKey(i), "put"));
  snapshots[0] = db->GetSnapshot();
  for (int i = 0; i < 3000; i += 3) Must(db->Merge(rocksdb::WriteOptions(), PresentKey(i), "more"));
  snapshots[1] = db->GetSnapshot();
  for (int i = 0; i < 3000; i += 5) Must(db->Delete(rocksdb::WriteOptions(), PresentKey(i)));
  for (int i = 0; i < 3000; i++) {
    if (i % 5 != 0) model[PresentKey(i)] = i % 3 == 0 ? "put,more" : "put";
  }
  Flush(db.get());
  for (const rocksdb::Snapshot* snapshot : snapshots) db->ReleaseSnapshot(snapshot);
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  ASSERT_EQ(files.size(), 1u);
  const std::string path = files[0].db_path + files[0].name;
  const auto source = SstSource::Open(path, options);
  Must(source.status());
  ExpectShows(source->get(), model);
  ExpectShows(source->get(), model, {PresentKey(100), PresentKey(1000)});
  const absl::Status merges = SstSource::Open(path).status();
  EXPECT_NE(merges.message().find("merge operator"), absl::string_view::npos) << merges;

  Must(db->DeleteRange(rocksdb::WriteOptions(), db->DefaultColumnFamily(), "a", "z"));
  Flush(db.get());
  db->GetLiveFilesMetaData(&files);
  int refused = 0;
  for (const auto& file : files) {
    const absl::Status status = SstSource::Open(file.db_path + file.name, options).status();
    refused += absl::IsUnimplemented(status);
  }
  EXPECT_EQ(refused, 1);
  EXPECT_FALSE(SstSource::Open(directory / "none.sst").ok());
}

TEST(SstSource, RefusesPlacesInBlobFiles) {
  std::vector<rocksdb::BlockBasedTableOptions> tables(1);
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 902
  tables.emplace_back().index_type = rocksdb::BlockBasedTableOptions::kBinarySearchWithFirstKey;
#endif
  for (const auto& table : tables) {
    for (const size_t bytes : {size_t{10}, size_t{2000}}) {
      TemporaryDirectory directory;
      rocksdb::Options options = OptionsOf();
      options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
      options.enable_blob_files = true;
      options.min_blob_size = 1000;
      const DbPtr db = Open(options, directory / "db");
      for (int i = 0; i < 3000; i++) {
        Must(db->Put(rocksdb::WriteOptions(), PresentKey(i),
                     std::string(i < 2999 ? 10 : bytes, 'v')));
      }
      Flush(db.get());
      std::vector<rocksdb::LiveFileMetaData> files;
      db->GetLiveFilesMetaData(&files);
      const absl::Status status = SstSource::Open(files[0].db_path + files[0].name).status();
      EXPECT_EQ(status.code(),
                bytes == 10 ? absl::StatusCode::kOk : absl::StatusCode::kUnimplemented)
          << status;
    }
  }
}

// The replica lacks some rows; what the join writes is ingested, and it lacks none.
TEST(SstSink, RepairsAReplica) {
  TemporaryDirectory directory;
  Random random = SeededRandom(7);
  const DbPtr whole = Open(OptionsOf(), directory / "whole");
  const DbPtr replica = Open(OptionsOf(), directory / "replica");
  Model model;
  WriteAtRandom(whole.get(), whole->DefaultColumnFamily(), 5000, random, &model);
  model[std::string("huge")] = std::string(16 << 20, 'h');
  Must(whole->Put(rocksdb::WriteOptions(), "huge", model["huge"]));
  uint64_t lacking = 0;
  for (const auto& [key, value] : model) {
    if (random() % 10 == 0 || key == "huge") {
      lacking++;
    } else {
      Must(replica->Put(rocksdb::WriteOptions(), key, value));
    }
  }
  const std::string path = directory / "missing.sst";
  {
    const auto here = RocksDbSource::Open(replica.get(), replica->DefaultColumnFamily());
    const auto there = RocksDbSource::Open(whole.get(), whole->DefaultColumnFamily());
    SstSinkOptions options;
    options.rocksdb = OptionsOf();
    const auto sink = SstSink::Open(path, options);
    Must(sink.status());
    Must(Difference(here->get(), there->get(), sink->get()));
    EXPECT_FALSE(std::filesystem::exists(path)) << "there before it is finished";
    Must((*sink)->Finish());
    EXPECT_EQ((*sink)->rows(), lacking);
  }
  EXPECT_FALSE(HasTemporaryFiles(path));
  Must(replica->IngestExternalFile({path}, rocksdb::IngestExternalFileOptions()));
  ExpectHolds(replica.get(), model);
  const auto here = RocksDbSource::Open(replica.get(), replica->DefaultColumnFamily());
  const auto there = RocksDbSource::Open(whole.get(), whole->DefaultColumnFamily());
  const auto sink = SstSink::Open(path);
  Must(Difference(here->get(), there->get(), sink->get()));
  Must((*sink)->Finish());
  EXPECT_FALSE(std::filesystem::exists(path)) << "of no rows there is no file";
}

TEST(SstSink, SortsWhatComesInAnotherOrder) {
  TemporaryDirectory directory;
  const std::string path = directory / "sorted.sst";
  Model model;
  {
    SstSinkOptions options;
    options.sort = true;
    options.sorting.memory_bytes = 10000;
    const auto sink = SstSink::Open(path, options);
    Must(sink.status());
    for (int i = 3000; i-- > 0;) {
      model[PresentKey(i)] = std::to_string(i);
      Must((*sink)->Add({PresentKey(i), std::to_string(i)}, Side::kServer));
      Must((*sink)->Add({PresentKey(i), "of another server"}, Side::kServer));
      if (i % 100 == 0) Must((*sink)->Commit());
    }
    Must((*sink)->Add({"discarded", ""}, Side::kServer));
    Must((*sink)->Discard());
    Must((*sink)->Finish());
    EXPECT_EQ((*sink)->rows(), model.size());
  }
  const auto source = SstSource::Open(path);
  Must(source.status());
  ExpectShows(source->get(), model);
}

TEST(SstSink, TakesNoRowsOfThisSideAndLeavesNoPartialFile) {
  TemporaryDirectory directory;
  const std::string path = directory / "out.sst";
  {
    const auto sink = SstSink::Open(path);
    Must(sink.status());
    EXPECT_TRUE(absl::IsFailedPrecondition((*sink)->Add({"a", ""}, Side::kClient)));
    Must((*sink)->Add({"b", ""}, Side::kServer));
    Must((*sink)->Commit());
    Must((*sink)->Add({"a", ""}, Side::kServer));
    const absl::Status unsorted = (*sink)->Commit();
    EXPECT_NE(unsorted.message().find(path), absl::string_view::npos) << unsorted;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(HasTemporaryFiles(path));
  EXPECT_FALSE(SstSink::Open("/nowhere/out.sst").ok());
}

}  // namespace
}  // namespace rocksieve::join
