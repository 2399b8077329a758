#include "auto/tree.h"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <rocksdb/cache.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <rocksieve/listener.h>

namespace rocksieve::bench {
namespace {

constexpr uint64_t kKeysPerFlush = 1000;
constexpr uint64_t kFlushBytes = 40 * kKeysPerFlush;  // of a table, about

void Must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::string Scattered(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(number * 0x9E3779B97F4A7C15));
  return text;
}

rocksdb::Options OptionsFor(const Shape& shape, const PolicyPtr& policy, bool listener) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy;
  table.block_cache = rocksdb::NewLRUCache(1 << 30);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 64 << 20;  // flushed by hand
  options.level0_file_num_compaction_trigger = 4;
  options.num_levels = 8;
  options.max_open_files = -1;
  options.target_file_size_base = (shape.one_run ? 40 : 4) * kFlushBytes;
  if (shape.universal) {
    options.compaction_style = rocksdb::kCompactionStyleUniversal;
  } else {
    options.max_bytes_for_level_base = 4 * kFlushBytes;
    options.max_bytes_for_level_multiplier = shape.ratio;
  }
  options.disable_auto_compactions = shape.one_run;
  if (listener) options.listeners.push_back(NewListener());
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// In universal compaction the property compaction-pending can stay 1 with nothing to do.
void WaitForCompactions(rocksdb::DB* db) {
  for (int idle = 0; idle < 3;) {
    uint64_t running = 0, pending = 0;
    db->GetIntProperty("rocksdb.num-running-compactions", &running);
    db->GetIntProperty("rocksdb.compaction-pending", &pending);
    if (running == 0 && pending == 0) return;
    idle = running == 0 ? idle + 1 : 0;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

uint64_t FilesAt(rocksdb::DB* db, int level) {
  std::string files;
  db->GetProperty("rocksdb.num-files-at-level" + std::to_string(level), &files);
  return std::stoull(files);
}

class Writer {
 public:
  Writer(Tree* tree, const std::function<void(uint64_t)>& advance)
      : tree_(tree), advance_(advance) {}

  void Flush(uint64_t keys) {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    for (uint64_t i = 0; i < keys; i++) {
      Must(tree_->db->Put(write, PresentKey(tree_->keys++), std::string(20, 'v')));
    }
    Must(tree_->db->Flush(rocksdb::FlushOptions()));
    WaitForCompactions(tree_->db.get());
    advance_(keys);
  }

 private:
  Tree* const tree_;
  const std::function<void(uint64_t)>& advance_;
};

// Flushes until so many files lie in level 0.
void SettleLevel0(const Shape& shape, Writer* writer, rocksdb::DB* db) {
  if (shape.l0_files == 0) {
    Must(db->SetOptions({{"level0_file_num_compaction_trigger", "1"}}));
    writer->Flush(kKeysPerFlush);
    return;
  }
  for (int attempt = 0; attempt < 8; attempt++) {
    if (FilesAt(db, 0) == static_cast<uint64_t>(shape.l0_files)) return;
    writer->Flush(kKeysPerFlush);
  }
}

}  // namespace

std::string PresentKey(uint64_t i) { return Scattered(2 * i); }
std::string MissingKey(uint64_t i) { return Scattered(2 * i + 1); }

double Memory::bits_per_entry() const {
  return entries == 0 ? 0 : 8.0 * static_cast<double>(filter_bytes) / static_cast<double>(entries);
}

Memory MemoryOf(rocksdb::DB* db) {
  rocksdb::TablePropertiesCollection tables;
  Must(db->GetPropertiesOfAllTables(&tables));
  Memory memory;
  for (const auto& [path, properties] : tables) {
    memory.entries += properties->num_entries;
    memory.filter_bytes += properties->filter_size;
    memory.files++;
  }
  return memory;
}

Tree BuildTree(const Shape& shape, const PolicyPtr& policy, bool listener,
               const std::string& directory, const std::function<void(uint64_t)>& advance) {
  const auto start = std::chrono::steady_clock::now();
  Tree tree;
  rocksdb::DB* db = nullptr;
  Must(rocksdb::DB::Open(OptionsFor(shape, policy, listener), directory, &db));
  tree.db.reset(db);
  Writer writer(&tree, advance);
  if (shape.one_run) {
    for (int i = 0; i < 10; i++) writer.Flush(shape.keys / 10);
    rocksdb::CompactRangeOptions everything;
    Must(db->CompactRange(everything, nullptr, nullptr));
  } else {
    while (tree.keys < shape.keys) writer.Flush(kKeysPerFlush);
    if (!shape.universal) SettleLevel0(shape, &writer, db);
  }
  WaitForCompactions(db);
  for (int level = 0; level < 8; level++) {
    tree.files_per_level += (level == 0 ? "" : " ") + std::to_string(FilesAt(db, level));
  }
  tree.build_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return tree;
}

}  // namespace rocksieve::bench
