// SPDX-License-Identifier: Apache-2.0
// What the tests of sources and sinks share: databases written at random in step with a map.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>

#include "integration/database.h"
#include "plugin/join/rocksdb_source.h"

namespace rocksieve::join {

using Model = std::map<std::string, std::string>;

inline void Must(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}
using rocksieve::Must;

// The source shows just what the model has, in the interval, in order.
inline void ExpectShows(Source* source, const Model& model, const KeyInterval& interval = {}) {
  const std::unique_ptr<Cursor> cursor = source->Scan(interval);
  auto expected = model.lower_bound(interval.begin);
  Row row;
  while (cursor->Next(&row)) {
    ASSERT_TRUE(expected != model.end());
    ASSERT_EQ(row.key, expected->first);
    ASSERT_TRUE(row.value == expected->second) << "value of " << row.key;
    ++expected;
  }
  EXPECT_TRUE(cursor->status().ok()) << cursor->status();
  EXPECT_TRUE(expected == (interval.end ? model.lower_bound(*interval.end) : model.end()))
      << "it ends before " << expected->first;
}

inline std::shared_ptr<rocksdb::MergeOperator> Appending() {
  std::shared_ptr<rocksdb::MergeOperator> appending;
  Must(rocksdb::MergeOperator::CreateFromString(rocksdb::ConfigOptions(), "stringappend",
                                                &appending));
  return appending;
}

inline rocksdb::Options OptionsOf() {
  rocksdb::Options options = DbConfig("rocksieve.bloom:10").Build();
  options.merge_operator = Appending();
  // Scans must see all keys all the same.
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
  return options;
}

inline std::string RandomKey(Random& random) {
  std::string key(random() % 6, '\0');
  for (char& byte : key) byte = "\0\1ab\xff"[random() % 5];
  return key;
}

// Puts, merges, deletions of all kinds, flushes and compactions, in step with the model.
inline void WriteAtRandom(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, int writes,
                          Random& random, Model* model) {
  const rocksdb::WriteOptions write;
  for (int i = 0; i < writes; i++) {
    const std::string key = RandomKey(random), value = random() % 9 == 0 ? "" : std::to_string(i);
    const uint64_t kind = random() % 100;
    if (kind < 50) {
      Must(db->Put(write, family, key, value));
      (*model)[key] = value;
    } else if (kind < 75) {
      Must(db->Merge(write, family, key, value));
      const auto [there, fresh] = model->try_emplace(key, value);
      if (!fresh) there->second += "," + value;
    } else if (kind < 95) {
      Must(db->Delete(write, family, key));
      model->erase(key);
    } else if (kind < 97) {
      std::string begin = RandomKey(random), end = RandomKey(random);
      if (end < begin) std::swap(begin, end);
      Must(db->DeleteRange(write, family, begin, end));
      model->erase(model->lower_bound(begin), model->lower_bound(end));
    } else if (kind < 99) {
      Must(db->Flush(rocksdb::FlushOptions(), family));
    } else if (random() % 4 == 0) {
      Must(db->CompactRange(rocksdb::CompactRangeOptions(), family, nullptr, nullptr));
    }
  }
}

}  // namespace rocksieve::join
