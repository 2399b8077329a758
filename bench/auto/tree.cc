// SPDX-License-Identifier: Apache-2.0
#include "bench/auto/tree.h"

#include <filesystem>

#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksieve/listener.h>

namespace rocksieve::bench {
namespace {

constexpr uint64_t kEntryBytes = 40;  // in a table, about

uint64_t FilesAt(rocksdb::DB* db, int level) {
  std::string files;
  db->GetProperty("rocksdb.num-files-at-level" + std::to_string(level), &files);
  return std::stoull(files);
}

// So many more keys.
void Flush(Tree* tree, uint64_t keys, Report* report) {
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  for (uint64_t i = 0; i < keys; i++) {
    Must(tree->db->Put(write, PresentKey(tree->keys++), std::string(20, 'v')));
  }
  Must(tree->db->Flush(rocksdb::FlushOptions()));
  WaitForCompactions(tree->db.get());
  report->Advance(keys);
}

bool HasGap(rocksdb::DB* db) {
  int deepest = 0;
  for (int level = 1; level < 8; level++) {
    if (FilesAt(db, level) > 0) deepest = level;
  }
  for (int level = 1; level < deepest; level++) {
    if (FilesAt(db, level) == 0) return true;
  }
  return false;
}

// Flushes until so many files lie in level 0, and no level is empty.
void FlushUntilShaped(const Shape& shape, Tree* tree, Report* report) {
  if (shape.l0_files == 0) {
    Must(tree->db->SetOptions({{"level0_file_num_compaction_trigger", "1"}}));
  }
  for (int attempt = 0; attempt < 40; attempt++) {
    if (attempt > 0 || shape.l0_files == 0) Flush(tree, shape.keys_per_flush, report);
    const bool shaped = FilesAt(tree->db.get(), 0) == static_cast<uint64_t>(shape.l0_files);
    if (shaped && !HasGap(tree->db.get())) return;
  }
}

}  // namespace

std::string PresentKey(uint64_t i) { return ScatteredKey(2 * i); }
std::string MissingKey(uint64_t i) { return ScatteredKey(2 * i + 1); }

std::string NarrowMissingKey(uint64_t i) { return "7" + MissingKey(i).substr(1); }

rocksdb::Options OptionsFor(const Shape& shape, const rocksdb::BlockBasedTableOptions& table,
                            bool listener) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = UnsyncedEnv();
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 1 << 30;  // flushed by hand
  options.level0_file_num_compaction_trigger = 4;
  options.num_levels = 8;
  options.max_open_files = -1;
  const uint64_t flush_bytes = kEntryBytes * shape.keys_per_flush;
  // Level 1 needs small files, else it would be emptied by every compaction; but filters of few
  // keys have overheads that those of usual files do not have.
  options.target_file_size_base = (shape.one_run || shape.universal ? 40 : 1) * flush_bytes;
  options.target_file_size_multiplier = shape.one_run ? 1 : shape.large_files ? 4 : 2;
  if (shape.universal) {
    options.compaction_style = rocksdb::kCompactionStyleUniversal;
  } else {
    // Level 0 is compacted when it is larger than level 1 may be.
    options.max_bytes_for_level_base = (shape.l0_files + 1) * flush_bytes;
    if (shape.l0_files == 0) options.max_bytes_for_level_base = 2 * flush_bytes;
    options.max_bytes_for_level_multiplier = shape.ratio;
  }
  options.disable_auto_compactions = shape.one_run;
  if (listener) options.listeners.push_back(NewListener());
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

Tree BuildTree(const Shape& shape, const rocksdb::Options& options, const std::string& directory,
               Report* report) {
  std::filesystem::remove_all(directory);
  Tree tree;
  tree.db = Open(options, directory);
  if (shape.one_run) {
    for (int i = 0; i < 10; i++) Flush(&tree, shape.keys / 10, report);
    Must(tree.db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  } else {
    while (tree.keys < shape.keys) Flush(&tree, shape.keys_per_flush, report);
    if (!shape.universal) FlushUntilShaped(shape, &tree, report);
  }
  WaitForCompactions(tree.db.get());
  return tree;
}

std::vector<Shape> Shapes(double scale) {
  std::vector<Shape> shapes = {
      {"ratio_10_live", "ratio 10, with L0 files", false, 10, 2, false, 900000, 1000, 0.05, 0.35},
      {"ratio_10", "ratio 10, without L0 files", false, 10, 0, false, 900000, 1000, 0.07, 0.50},
      {"ratio_10_large", "ratio 10, large files", false, 10, 0, false, 900000, 1000, 0.07, 0.50,
       true},
      {"ratio_4_live", "ratio 4, with L0 files", false, 4, 2, false, 500000, 1000, 0.07, 0.45},
      {"ratio_4", "ratio 4, without L0 files", false, 4, 0, false, 500000, 1000, 0.10, 0.65},
      {"universal", "universal, 4 runs", true, 0, 0, false, 400000, 1000, 0.10, 0.65},
      {"one_run", "one sorted run", false, 10, 0, true, 300000, 1000, 0.12, 0.90}};
  for (Shape& shape : shapes) {
    shape.keys = static_cast<uint64_t>(scale * static_cast<double>(shape.keys));
    if (scale > 1) shape.keys_per_flush = static_cast<uint64_t>(1000 * scale);
  }
  return shapes;
}

}  // namespace rocksieve::bench
