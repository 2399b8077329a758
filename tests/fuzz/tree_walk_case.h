// SPDX-License-Identifier: Apache-2.0
// A database with a history, a snapshot of it, and scans of it by a walk and by RocksDB's iterator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include "tests/fuzz/target.h"
#include "plugin/join/rocksdb_source.h"

namespace rocksieve::fuzz {

// Everything is chosen by the bytes of an input: how tables are made, what is written, in which
// files of which levels it ends, what is damaged, what is scanned.
class TreeWalkCase {
 public:
  explicit TreeWalkCase(std::string_view input);
  ~TreeWalkCase();

  // Lives through the history and compares. Empty if both ways to read say the same of rows and of
  // errors; else what differs.
  std::string Run();

  // Scans that were compared, and those of them that RocksDB's iterator had no part in.
  int scans() const { return scans_; }
  int walked_scans() const { return walked_scans_; }
  const std::vector<std::string>& why_not_walked() const { return why_not_walked_; }

 private:
  using Source = join::RocksDbSource;

  void ChooseTable();
  void Open();
  void Write();
  void Ingest();
  void CompactSome();
  bool Damage();
  std::string Key();
  std::string Value();
  std::string Bound();
  std::string Compare();
  std::string CompareDamaged();
  std::string CompareScans(Source* walked, Source* iterated, const join::KeyInterval& interval);

  Choices choices_;
  std::unique_ptr<rocksdb::Env> env_;
  rocksdb::BlockBasedTableOptions table_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
  std::vector<std::string> keys_;  // some of those that were written
  bool has_others_ = false;        // merges, deleted ranges, wide columns
  bool has_checksums_ = true;      // without them, RocksDB believes what is damaged
  std::map<std::string, std::string> intact_rows_;  // before the damage
  int ingested_ = 0;
  int scans_ = 0, walked_scans_ = 0;
  std::vector<std::string> why_not_walked_;
};

}  // namespace rocksieve::fuzz
