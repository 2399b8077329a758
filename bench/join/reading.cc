// SPDX-License-Identifier: Apache-2.0
// What it takes to read a database's rows for a join: processor time per row of a walk through its
// table files, and of a stream of Arrow, beside RocksDB's iterator, on one thread, from the page
// cache, in one run. Walk and iterator are compared row by row.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksieve/c_arrow.h>
#include <rocksieve/filter.h>
#include <CLI/CLI.hpp>

#include "bench/clock.h"
#include "bench/program.h"
#include "lib/hash/mix.h"
#include "plugin/database/rocksdb_open.h"
#include "plugin/join/rocksdb_source.h"

namespace rocksieve::bench {
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
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// Key number i, of 16 bytes that look random.
std::string KeyOf(uint64_t i) {
  const uint64_t halves[] = {SplitMix64(0, 2 * i), SplitMix64(0, 2 * i + 1)};
  return {reinterpret_cast<const char*>(halves), sizeof(halves)};
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

using SourcePtr = std::unique_ptr<join::RocksDbSource>;

SourcePtr SourceOf(rocksdb::DB* db, bool walk) {
  join::RocksDbSourceOptions options;
  options.walk = walk;
  auto source = join::RocksDbSource::Open(db, db->DefaultColumnFamily(), options);
  Must(source.status());
  if (walk && !(*source)->why_not_walked().empty()) {
    throw std::runtime_error((*source)->why_not_walked());
  }
  return *std::move(source);
}

// Per row, the least of some runs.
double ReadNanoseconds(rocksdb::DB* db, bool walk, int runs) {
  const SourcePtr source = SourceOf(db, walk);
  uint64_t rows = 0;
  const double least = LeastNanoseconds(runs, [&] {
    const std::unique_ptr<join::Cursor> cursor = source->Scan({});
    join::Row row;
    rows = 0;
    uint64_t sum = 0;
    while (cursor->Next(&row)) {
      rows++;
      sum += row.key.size() + row.value.size() + static_cast<uint8_t>(row.key[0]);
    }
    Must(cursor->status());
    volatile uint64_t used = sum;
    (void)used;
  });
  return least / static_cast<double>(rows);
}

// The same of batches of Arrow; with a filter, of which rows it lets pass.
double ScanNanoseconds(const std::string& path, std::string_view filter, uint64_t rows, int runs) {
  const std::unique_ptr<rocksieve_scan_t, void (*)(rocksieve_scan_t*)> scan(
      rocksieve_scan_create(nullptr), rocksieve_scan_destroy);
  const auto must = [](unsigned char done) {
    if (done == 0) throw std::runtime_error("the scan failed");
  };
  must(rocksieve_scan_set(scan.get(), "db", path.data(), path.size(), nullptr));
  if (!filter.empty()) {
    must(rocksieve_scan_filter(scan.get(), filter.data(), filter.size(), nullptr));
  }
  const double least = LeastNanoseconds(runs, [&] {
    ArrowArrayStream stream;
    must(rocksieve_scan_open(scan.get(), &stream, nullptr));
    ArrowArray batch;
    while (stream.get_next(&stream, &batch) == 0 && batch.release != nullptr) batch.release(&batch);
    stream.release(&stream);
  });
  rocksieve_scan_counts_t counts;
  rocksieve_scan_counts(scan.get(), &counts);
  must(counts.rows_read == rows && (filter.empty() || counts.rows_given < rows / 50));
  return least / static_cast<double>(rows);
}

// Of one key in a hundred.
FilterBlock FilterOfFew(uint64_t rows) {
  FilterSpec spec;
  const std::string problem = FilterSpec::Parse("rocksieve.bloom:1%", &spec);
  if (!problem.empty()) throw std::runtime_error(problem);
  FilterBuilder builder(spec);
  for (uint64_t i = 0; i < rows; i += 100) builder.AddKey(KeyOf(i));
  return builder.Finish();
}

void CheckEqual(rocksdb::DB* db) {
  const SourcePtr walked = SourceOf(db, true), iterated = SourceOf(db, false);
  const auto a = walked->Scan({}), b = iterated->Scan({});
  join::Row row, other;
  for (bool more = true; more;) {
    more = a->Next(&row);
    if (more != b->Next(&other) || (more && (row.key != other.key || row.value != other.value))) {
      throw std::runtime_error("the walk gives other rows than the iterator");
    }
  }
}

int Main(int argc, char** argv) {
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
  Report report("bench reading", "");
  const std::unique_ptr<WorkDir> directory = NewWorkDir("", "join_reading");
  Table table = {.name = "reading",
                 .title = "READING",
                 .explanation = Counted(rows, "key") +
                                " of 16 bytes. Nanoseconds of processor time per row, checksums "
                                "verified.",
                 .columns = {{"tree", "", "tree", Column::Kind::kText},
                             {"iterator_ns", "", "iterator", Column::Kind::kFixed, 1},
                             {"walk_ns", "", "walk", Column::Kind::kFixed, 1},
                             {"ratio", "", "ratio"},
                             {"arrow_ns", "", "arrow", Column::Kind::kFixed, 1},
                             {"arrow_ratio", "", "ratio"},
                             {"filtered_ns", "", "1 % passes", Column::Kind::kFixed, 1}}};
  for (const Tree& tree : kTrees) {
    report.Begin(tree.name);
    const std::string path = (directory->path() / "db").string();
    const auto db = MakeTree(path, tree, rows);
    CheckEqual(db.get());
    const double iterated = ReadNanoseconds(db.get(), /*walk=*/false, runs);
    const double walked = ReadNanoseconds(db.get(), /*walk=*/true, runs);
    const double scanned = ScanNanoseconds(path, {}, rows, runs);
    const FilterBlock few = FilterOfFew(rows);
    table.rows.push_back({{"tree", tree.name},
                          {"iterator_ns", iterated},
                          {"walk_ns", walked},
                          {"ratio", walked / iterated},
                          {"arrow_ns", scanned},
                          {"arrow_ratio", scanned / iterated},
                          {"filtered_ns", ScanNanoseconds(path, few.view(), rows, runs)}});
  }
  report.Add(table);
  return report.Finish();
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  return rocksieve::bench::RunProgram("join_reading", rocksieve::bench::Main, argc, argv);
}
