// Databases with a tree of several levels, as they grow by themselves, and keys of several shapes.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "integration/database.h"

namespace rocksieve {

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
