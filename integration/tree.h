// Trees of many small files, and what their filters take.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/listener.h>
#include <rocksieve/listener.h>

#include "integration/database.h"

namespace rocksieve {

// Options of a levelled tree with tiny files, so that some hundred thousand keys are four levels.
struct TreeConfig {
  TreeConfig(const std::string& spec, bool listener, int ratio) : db(spec) {
    db.options.disable_auto_compactions = false;
    db.options.write_buffer_size = 8 << 20;  // flushed by hand
    db.options.level0_file_num_compaction_trigger = 4;
    db.options.max_bytes_for_level_multiplier = ratio;
    db.options.max_bytes_for_level_base = 160 << 10;
    db.options.target_file_size_base = 160 << 10;
    db.options.num_levels = 8;
    db.options.max_background_jobs = 2;
    db.table.block_cache = rocksdb::NewLRUCache(64 << 20);
    if (listener) db.options.listeners.push_back(NewListener());
  }
  DbConfig db;
};

// Evenly distributed, as 16 hexadecimal digits; odd numbers are never written.
inline std::string ScatteredKey(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(number * 0x9E3779B97F4A7C15));
  return text;
}

// Until no compaction runs or is due. In universal compaction the property compaction-pending can
// stay 1 with nothing to do, so it must be seen idle for a while instead.
inline void WaitForCompactions(rocksdb::DB* db) {
  const bool levelled = db->GetOptions().compaction_style == rocksdb::kCompactionStyleLevel;
  constexpr int kIdleMilliseconds = 10;
  for (int idle = 0; levelled || idle < kIdleMilliseconds;) {
    uint64_t running = 0, flushing = 0, pending = 0;
    db->GetIntProperty("rocksdb.num-running-compactions", &running);
    db->GetIntProperty("rocksdb.num-running-flushes", &flushing);
    db->GetIntProperty("rocksdb.compaction-pending", &pending);
    if (running == 0 && flushing == 0 && pending == 0) return;
    idle = running == 0 && flushing == 0 ? idle + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

struct Memory {
  uint64_t entries = 0, filter_bytes = 0, files = 0;
  double bits() const {
    return entries == 0 ? 0
                        : 8.0 * static_cast<double>(filter_bytes) / static_cast<double>(entries);
  }
};

// Of the live files; with `policy_name`, only of those whose filter this policy made.
inline Memory MemoryOf(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family = nullptr,
                       const std::string& policy_name = "") {
  rocksdb::TablePropertiesCollection tables;
  Must(db->GetPropertiesOfAllTables(family == nullptr ? db->DefaultColumnFamily() : family,
                                    &tables));
  Memory memory;
  for (const auto& [path, properties] : tables) {
    if (!policy_name.empty() && properties->filter_policy_name != policy_name) continue;
    memory.entries += properties->num_entries;
    memory.filter_bytes += properties->filter_size;
    memory.files++;
  }
  return memory;
}

// Levels with files, from the top.
inline std::string ShapeOf(rocksdb::DB* db) {
  std::string shape;
  for (int level = 0; level < 8; level++) {
    std::string files;
    db->GetProperty("rocksdb.num-files-at-level" + std::to_string(level), &files);
    shape += (level == 0 ? "" : " ") + files;
  }
  return shape;
}

}  // namespace rocksieve
