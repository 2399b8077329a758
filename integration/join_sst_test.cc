// SST files as sources and sinks of a join.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "integration/join_support.h"
#include "plugin/join/rocksdb_source.h"
#include "plugin/join/sst_sink.h"
#include "plugin/join/sst_source.h"

namespace rocksieve::join {
namespace {

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
    Must(Join(Operation::kDifference, here->get(), there->get(), sink->get()));
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
  Must(Join(Operation::kDifference, here->get(), there->get(), sink->get()));
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
      Must((*sink)->Add({PresentKey(i), std::to_string(i)}, Side::kAnswering));
      if (i % 100 == 0) Must((*sink)->Commit());
    }
    Must((*sink)->Add({"discarded", ""}, Side::kAnswering));
    Must((*sink)->Discard());
    Must((*sink)->Finish());
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
    EXPECT_TRUE(absl::IsFailedPrecondition((*sink)->Add({"a", ""}, Side::kAsking)));
    Must((*sink)->Add({"b", ""}, Side::kAnswering));
    Must((*sink)->Commit());
    Must((*sink)->Add({"a", ""}, Side::kAnswering));
    const absl::Status unsorted = (*sink)->Commit();
    EXPECT_NE(unsorted.message().find(path), absl::string_view::npos) << unsorted;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(HasTemporaryFiles(path));
  EXPECT_FALSE(SstSink::Open("/nowhere/out.sst").ok());
}

}  // namespace
}  // namespace rocksieve::join
