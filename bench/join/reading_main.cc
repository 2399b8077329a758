// SPDX-License-Identifier: Apache-2.0
// What it takes to read a database's rows for a join: processor time per row of a walk through its
// table files beside RocksDB's iterator, on one thread, from the page cache, in one run. Both are
// compared row by row.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <CLI/CLI.hpp>

#include "plugin/database/rocksdb_open.h"
#include "plugin/join/rocksdb_source.h"
#include "support/work_dir.h"

namespace rocksieve::join {
namespace {

struct Tree {
  const char* name;
  bool has_levels;  // else all rows are in the last level
  size_t value_bytes;
  rocksdb::CompressionType compression;
  rocksdb::ChecksumType checksum = rocksdb::kXXH3;
};

constexpr Tree kTrees[] = {
    {"one level, no values", false, 0, rocksdb::kNoCompression},
    {"one level, 100 bytes", false, 100, rocksdb::kNoCompression},
    {"one level, 100 bytes, CRC-32C", false, 100, rocksdb::kNoCompression, rocksdb::kCRC32c},
    {"one level, no values, LZ4", false, 0, rocksdb::kLZ4Compression},
    {"one level, 100 bytes, LZ4", false, 100, rocksdb::kLZ4Compression},
    {"levels, no values", true, 0, rocksdb::kNoCompression},
    {"levels, 100 bytes", true, 100, rocksdb::kNoCompression},
    {"levels, no values, LZ4", true, 0, rocksdb::kLZ4Compression},
    {"levels, 100 bytes, LZ4", true, 100, rocksdb::kLZ4Compression},
};

template <typename S>
void Must(const S& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "join_reading: %s\n", status.ToString().c_str());
  std::exit(1);
}

double CpuNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Key number i, of 16 bytes that look random.
std::string KeyOf(uint64_t i) {
  std::string key(16, '\0');
  for (int half = 0; half < 2; half++) {
    uint64_t x = (2 * i + static_cast<uint64_t>(half) + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    std::copy_n(reinterpret_cast<const char*>(&x), 8, key.begin() + 8 * half);
  }
  return key;
}

// Half of whose bytes look random.
std::string ValueOf(uint64_t i, size_t bytes) {
  std::string value;
  for (uint64_t part = 0; value.size() < bytes; part++)
    value += KeyOf(i * 64 + part) + "a field of a row;";
  value.resize(bytes);
  return value;
}

// So many rows, in the last level; with levels, a tenth is in the one above it, a hundredth in the
// next one, and as much in two files of level 0. Of each of these, a third writes rows anew.
std::unique_ptr<rocksdb::DB> MakeTree(const std::string& path, const Tree& tree, uint64_t rows) {
  rocksdb::DestroyDB(path, rocksdb::Options()).PermitUncheckedError();
  rocksdb::BlockBasedTableOptions table;
  table.checksum = tree.checksum;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = tree.compression;
  options.disable_auto_compactions = true;
  options.level_compaction_dynamic_level_bytes = false;
  options.write_buffer_size = 256 << 20;
  options.num_levels = 7;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::unique_ptr<rocksdb::DB> db;
  Must(rocksdb::DB::Open(options, path, Into(&db)));
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  const auto put = [&](uint64_t begin, uint64_t end, int level) {
    for (uint64_t i = begin; i < end; i++) {
      Must(db->Put(write, KeyOf(i), ValueOf(i, tree.value_bytes)));
    }
    Must(db->Flush(rocksdb::FlushOptions()));
    if (level == 0) return;
    rocksdb::ColumnFamilyMetaData data;
    db->GetColumnFamilyMetaData(&data);
    std::vector<std::string> files;
    for (const auto& file : data.levels[0].files) files.push_back(file.name);
    Must(db->CompactFiles(rocksdb::CompactionOptions(), files, level));
  };
  if (!tree.has_levels) {
    put(0, rows, 6);
    return db;
  }
  uint64_t end = rows - rows / 10 - 3 * (rows / 100);
  put(0, end, 6);
  const auto put_above = [&](uint64_t count, int level) {
    put(end - count / 2, end + count, level);
    end += count;
  };
  put_above(rows / 10, 5);
  put_above(rows / 100, 4);
  put_above(rows / 100, 0);
  put_above(rows / 100, 0);
  return db;
}

struct Result {
  double nanoseconds = std::numeric_limits<double>::infinity();  // per row
  uint64_t rows = 0;
};

// The best of some runs.
Result Read(rocksdb::DB* db, bool walk, int runs) {
  RocksDbSourceOptions options;
  options.walk = walk;
  const auto source = RocksDbSource::Open(db, db->DefaultColumnFamily(), options);
  Must(source.status());
  Result result;
  for (int run = 0; run < runs; run++) {
    const double begin = CpuNanoseconds();
    const std::unique_ptr<Cursor> cursor = (*source)->Scan({});
    Row row;
    result.rows = 0;
    uint64_t sum = 0;
    while (cursor->Next(&row)) {
      result.rows++;
      sum += row.key.size() + row.value.size() + static_cast<uint8_t>(row.key[0]);
    }
    Must(cursor->status());
    volatile uint64_t used = sum;
    (void)used;
    const double all = CpuNanoseconds() - begin;
    result.nanoseconds = std::min(result.nanoseconds, all / static_cast<double>(result.rows));
  }
  if (walk != (*source)->why_not_walked().empty()) {
    std::fprintf(stderr, "join_reading: %s\n", (*source)->why_not_walked().c_str());
    std::exit(1);
  }
  return result;
}

void ExpectEqual(rocksdb::DB* db) {
  RocksDbSourceOptions options;
  const auto walked = RocksDbSource::Open(db, db->DefaultColumnFamily(), options);
  options.walk = false;
  const auto iterated = RocksDbSource::Open(db, db->DefaultColumnFamily(), options);
  Must(walked.status());
  Must(iterated.status());
  const auto a = (*walked)->Scan({}), b = (*iterated)->Scan({});
  Row row, other;
  for (bool more = true; more;) {
    more = a->Next(&row);
    if (more != b->Next(&other) || (more && (row.key != other.key || row.value != other.value))) {
      std::fprintf(stderr, "join_reading: the walk gives other rows than the iterator\n");
      std::exit(1);
    }
  }
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) {
  using namespace rocksieve::join;
  CLI::App app("What reading rows for a join costs.");
  uint64_t rows = 2'000'000;
  int runs = 5;
  bool quick = false;
  app.add_option("--rows", rows, "Rows of each tree")->capture_default_str();
  app.add_option("--runs", runs, "Runs, of which the best counts")->capture_default_str();
  app.add_flag("--quick", quick, "Few rows, only to see that it works");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    rows = 50'000;
    runs = 1;
  }
  std::unique_ptr<rocksieve::WorkDir> directory;
  Must(rocksieve::WorkDir::Create("", "join_reading", &directory));
  std::printf(
      "READING\n%llu rows with keys of 16 bytes. Nanoseconds of processor time per row, checksums "
      "verified.\n\n"
      "%-32s %9s %6s %6s\n",
      static_cast<unsigned long long>(rows), "tree", "iterator", "walk", "ratio");
  for (const Tree& tree : kTrees) {
    const auto db = MakeTree((directory->path() / "db").string(), tree, rows);
    ExpectEqual(db.get());
    const Result iterated = Read(db.get(), /*walk=*/false, runs);
    const Result walked = Read(db.get(), /*walk=*/true, runs);
    std::printf("%-32s %9.1f %6.1f %6.2f\n", tree.name, iterated.nanoseconds, walked.nanoseconds,
                walked.nanoseconds / iterated.nanoseconds);
    std::fflush(stdout);
  }
  return 0;
}
