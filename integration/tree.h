// SPDX-License-Identifier: Apache-2.0
// Trees of several levels, and keys of several shapes: trees of many small files that grow by
// themselves and what their filters take, and trees that are built level by level.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
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

// Until no compaction runs or is due; where all are by hand, none is. In universal compaction the
// property compaction-pending can stay 1 with nothing to do, so it must be seen idle for a while
// instead.
inline void WaitForCompactions(rocksdb::DB* db) {
  const rocksdb::Options options = db->GetOptions();
  if (options.disable_auto_compactions) return;
  const bool levelled = options.compaction_style == rocksdb::kCompactionStyleLevel;
  constexpr int kIdleMilliseconds = 10;
  for (int idle = 0; levelled || idle < kIdleMilliseconds;) {
    uint64_t running = 0, flushing = 0, pending = 0;
    // In this order, so that what begins meanwhile is seen.
    db->GetIntProperty("rocksdb.num-running-flushes", &flushing);
    db->GetIntProperty("rocksdb.compaction-pending", &pending);
    db->GetIntProperty("rocksdb.num-running-compactions", &running);
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

// Distinct keys: those that are stored, and others like them that are not; in random order.
struct KeySet {
  std::vector<std::string> present, missing;
};

inline KeySet SplitKeys(std::vector<std::string> keys, uint64_t present, Random* random) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::shuffle(keys.begin(), keys.end(), *random);
  if (keys.size() < present) throw std::runtime_error("too few keys");
  KeySet set;
  set.present.assign(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(present));
  set.missing.assign(keys.begin() + static_cast<ptrdiff_t>(present), keys.end());
  return set;
}

inline std::string RandomBytes(size_t count, Random* random) {
  std::string bytes;
  for (size_t i = 0; i < count; i++) bytes += static_cast<char>((*random)());
  return bytes;
}

inline std::string Uuid(Random* random) {
  char text[40];
  const auto part = [&] { return static_cast<unsigned>((*random)() & 0xFFFF); };
  std::snprintf(text, sizeof(text), "%04x%04x-%04x-4%03x-%04x-%04x%04x%04x", part(), part(), part(),
                part() & 0xFFF, part(), part(), part(), part());
  return text;
}

inline std::string Path(Random* random) {
  static const char* const kWords[] = {"usr", "share", "doc", "lib", "python", "include", "x11"};
  std::string path;
  for (uint64_t depth = 2 + (*random)() % 4; depth > 0; depth--) {
    path += "/" + std::string(kWords[(*random)() % 7]);
  }
  return path + "/file" + std::to_string((*random)() % 100000) + ".txt";
}

// Writes keys so that each part becomes files of one level: the last level first. Parts of level 0
// become as many files as they say.
struct LevelPart {
  int level;
  double share;
  int files;
};
inline const std::vector<LevelPart> kGrownTree = {
    {3, 0.8, 6}, {2, 0.14, 3}, {1, 0.04, 1}, {0, 0.02, 3}};

inline void BuildGrownTree(rocksdb::DB* db, const std::vector<std::string>& keys,
                           size_t value_bytes, const std::vector<LevelPart>& parts = kGrownTree,
                           rocksdb::ColumnFamilyHandle* family = nullptr) {
  if (family == nullptr) family = db->DefaultColumnFamily();
  size_t next = 0;
  for (const LevelPart& part : parts) {
    const bool last_part = &part == &parts.back();
    const size_t until =
        last_part
            ? keys.size()
            : std::min(keys.size(),
                       next + static_cast<size_t>(part.share * static_cast<double>(keys.size())));
    const size_t count = until - next;
    const int flushes = part.level == 0 ? part.files : 1;
    uint64_t bytes = 0;
    for (int flush = 0; flush < flushes; flush++) {
      const size_t end =
          until - count + count * static_cast<size_t>(flush + 1) / static_cast<size_t>(flushes);
      for (; next < end; next++) {
        const std::string value(value_bytes, static_cast<char>('a' + next % 26));
        Must(db->Put(rocksdb::WriteOptions(), family, keys[next], value));
        bytes += keys[next].size() + value.size();
      }
      Must(db->Flush(rocksdb::FlushOptions(), family));
    }
    if (part.level == 0) continue;
    rocksdb::ColumnFamilyMetaData tree;
    db->GetColumnFamilyMetaData(family, &tree);
    std::vector<std::string> names;
    for (const auto& file : tree.levels[0].files) names.push_back(file.name);
    rocksdb::CompactionOptions options;
    options.compression = rocksdb::kNoCompression;
    options.output_file_size_limit = bytes / static_cast<uint64_t>(part.files);
    Must(db->CompactFiles(options, family, names, part.level));
  }
}

}  // namespace rocksieve
