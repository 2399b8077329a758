// SPDX-License-Identifier: Apache-2.0
// One SST file: its properties, and where its filter is. Reads no keys and no data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/status.h>

#include "plugin/tables/sst_block.h"

namespace rocksieve {

// What a file says of itself; rocksdb/table_properties.h has more on each of them.
struct TableProperties {
  uint64_t entries = 0;
  uint64_t deletions = 0;
  uint64_t range_deletions = 0;
  uint64_t merge_operands = 0;
  uint64_t filter_entries = 0;  // keys and prefixes in the filter; 0 in files of RocksDB before 7.3
  uint64_t filter_bytes = 0;    // with the index of its partitions
  uint64_t data_blocks = 0;
  uint64_t data_bytes = 0;
  uint64_t index_bytes = 0;
  uint64_t raw_key_bytes = 0;
  uint64_t raw_value_bytes = 0;
  uint64_t oldest_key_time = 0;  // 0 unless a flush made the file
  uint32_t index_type = 0;       // rocksdb::BlockBasedTableOptions::IndexType
  bool is_external = false;      // made by an SstFileWriter, to be ingested
  bool index_key_is_user_key = false;
  bool index_value_is_delta_encoded = false;
  bool whole_keys_filtered = true;
  bool prefixes_filtered = false;
  // False: the comparator knows timestamps, but keys are in the file without them (RocksDB 8.5).
  bool timestamps_persisted = true;
  std::string column_family_name;
  std::string filter_policy_name;  // as options name the policy; empty if none
  std::string prefix_extractor_name;
  std::string comparator_name;
  std::string compression_name;  // as stored: from format_version 7 on "MANAGER;TYPES IN HEX;"
  // Which together no other file has: a time during which a database was open, and a number in it.
  // Empty and 0 in files of old releases.
  std::string session;
  uint64_t number_in_session = 0;

  // Those that filters hold: range deletions are entries too, but in no filter.
  uint64_t keys() const { return entries - std::min(entries, range_deletions); }
  // Whether it was written with the extractor that options name so: files of rocksieve.range record
  // another name than the options have.
  bool HasExtractor(std::string_view name) const;
  // Whether iterators tell the file's filters which range they ask for.
  bool HearsRanges() const;
};

// The compression of blocks, in RocksDB's words: "ZSTD", "LZ4, ZSTD", "NoCompression"; empty if the
// file does not say. A type that is not known is named by its number.
std::string CompressionInWords(const std::string& compression_name);

// Reads them from the block in which a file describes itself.
rocksdb::Status ParseProperties(std::string_view block, TableProperties* properties);

enum class FilterLayout {
  kNone,
  kFull,         // one block
  kPartitioned,  // several blocks, each for a part of the file's keys, and an index of them
  kObsolete,     // one per data block: RocksDB 7.0 and later do not read them
};

// A block of a filter.
struct FilterPartition {
  BlockPlace place;
  // The largest key that may belong to it (in the order of the file's comparator); of the last one,
  // also every larger key. Empty if the filter is one block.
  std::string last_key;
};

struct FilterPlaces {
  FilterLayout layout = FilterLayout::kNone;
  std::string stored_name;                  // the compatibility name of the policy that wrote it
  BlockPlace top;                           // the filter, or the index of its partitions
  std::vector<FilterPartition> partitions;  // one if kFull
};

class TableFile {
 public:
  // Any error is about this file: NotFound (deleted), IOError (no permission), Corruption.
  static rocksdb::Status Open(rocksdb::Env* env, const std::string& path,
                              std::unique_ptr<TableFile>* file);

  const TableProperties& properties() const { return properties_; }
  const TableFooter& footer() const { return footer_; }
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  rocksdb::RandomAccessFile* file() const { return file_.get(); }

  // Null if there is none of that name.
  const BlockPlace* MetaBlock(std::string_view name) const;

  // Finds the filter. Not OK if the index of its partitions is damaged; `places` then has the rest.
  rocksdb::Status FindFilter(FilterPlaces* places) const;

  // Corruption if its checksum does not match; the bytes are there nevertheless.
  rocksdb::Status ReadFilterBlock(BlockPlace place, std::string* block) const;

 private:
  rocksdb::Status ReadMetaBlocks();

  std::string path_;
  std::unique_ptr<rocksdb::RandomAccessFile> file_;
  uint64_t bytes_ = 0;
  TableFooter footer_;
  std::map<std::string, BlockPlace, std::less<>> meta_blocks_;
  TableProperties properties_;
};

// A table file of a state of a database, as the MANIFEST has it.
struct LiveTable {
  std::string path;
  int level = 0;
  uint64_t bytes = 0;
  uint64_t smallest_sequence = 0, largest_sequence = 0;  // of its entries
  std::string smallest, largest;                         // user keys
};

// Of a column family's current state, level by level.
std::vector<LiveTable> LiveTablesOf(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family);

// The files of a level, by their smallest keys, or one of level 0: they overlap in their first and
// last keys at most. REQUIRES: bytewise order.
std::vector<std::vector<LiveTable>> SortedRuns(std::vector<LiveTable> tables);

}  // namespace rocksieve
