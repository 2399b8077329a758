// SPDX-License-Identifier: Apache-2.0
// Writes a database of many small column families, each with a table file of another format: the
// golden files rocksdb-RELEASE.tar.gz beside it, each written by that release of RocksDB.
//
//   write DIRECTORY [own]        with "own", families with filters of rocksieve too
//
// A column family has the keys key0000 to key0149 (ribbon: key1499), with the values value0 and so
// on, and where its comparator has timestamps, one of eight zero bytes.
//
// How it is built and run beside each release: README.md.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

namespace {

using rocksdb::Status;

constexpr int kKeys = 150, kKeysOfRibbon = 1500;  // of fewer, RocksDB makes a Bloom filter instead
constexpr int kRelease = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR;

struct Case {
  const char* name;
  int since;  // the first release that has all of its options
  const char* options;
};

#define TABLE(settings) "block_based_table_factory={" settings "};"
#define BLOOM "filter_policy=bloomfilter:10:false;"
#define PARTITIONED \
  "partition_filters=true;index_type=kTwoLevelIndexSearch;metadata_block_size=64;block_size=256;"
#define COMPRESSED "compression=kZSTD;"
#define TIMESTAMPS \
  "comparator=leveldb.BytewiseComparator.u64ts;persist_user_defined_timestamps=false;"

constexpr Case kCases[] = {
    {"default", 0, TABLE(BLOOM)},
    {"compressed", 0, TABLE(BLOOM) COMPRESSED},
    {"partitioned", 0, TABLE(BLOOM PARTITIONED) COMPRESSED},
    {"ribbon", 0, TABLE("filter_policy=ribbonfilter:10:-1;") COMPRESSED},
    {"prefixes", 0,
     TABLE(BLOOM PARTITIONED
           "whole_key_filtering=false;") "prefix_extractor=rocksdb.FixedPrefix.6;"},
    {"without-filter", 0, TABLE("")},
    {"format-2", 0, TABLE(BLOOM "format_version=2;")},
    {"format-3", 0, TABLE(BLOOM PARTITIONED "format_version=3;")},
    {"format-4", 0, TABLE(BLOOM PARTITIONED "format_version=4;")},
    {"format-5", 0, TABLE(BLOOM PARTITIONED "format_version=5;")},
    {"format-6", 900, TABLE(BLOOM PARTITIONED "format_version=6;")},
    {"format-7", 1100, TABLE(BLOOM PARTITIONED "format_version=7;")},
    {"crc32c", 0, TABLE(BLOOM PARTITIONED "checksum=kCRC32c;")},
    {"xxhash", 0, TABLE(BLOOM PARTITIONED "checksum=kxxHash;")},
    {"xxhash64", 0, TABLE(BLOOM PARTITIONED "checksum=kxxHash64;")},
    {"unchecked", 0, TABLE(BLOOM PARTITIONED "checksum=kNoChecksum;")},
    {"decoupled", 908, TABLE(BLOOM PARTITIONED "decouple_partitioned_filters=true;")},
    {"timestamps", 0, TABLE(BLOOM PARTITIONED) "comparator=leveldb.BytewiseComparator.u64ts;"},
    {"stripped", 900, TABLE(BLOOM PARTITIONED) TIMESTAMPS},
    {"separated", 1101,
     TABLE(BLOOM PARTITIONED "separate_key_value_in_data_block=true;uniform_cv_threshold=100;"
                             "data_block_index_type=kDataBlockBinaryAndHash;")},
};

constexpr Case kOwnCases[] = {
    {"own-bloom", 0, TABLE("filter_policy=rocksieve.bloom:10;" PARTITIONED)},
    {"own-cuckoo", 0, TABLE("filter_policy=rocksieve.cuckoo:12;") COMPRESSED},
    {"own-ribbon", 0, TABLE("filter_policy=rocksieve.ribbon:10;" PARTITIONED)},
};

void Must(const Status& status, const std::string& what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), status.ToString().c_str());
  std::exit(1);
}

rocksdb::ColumnFamilyOptions OptionsOf(const Case& c) {
  rocksdb::ColumnFamilyOptions options;
  rocksdb::ConfigOptions config;
  config.ignore_unsupported_options = false;
  Must(rocksdb::GetColumnFamilyOptionsFromString(
           config, rocksdb::ColumnFamilyOptions(),
           std::string("compression=kNoCompression;") + c.options, &options),
       c.name);
  options.disable_auto_compactions = true;
  return options;
}

void Fill(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, bool timestamps) {
  const std::string zeros(8, '\0');
  const int keys = family->GetName() == "ribbon" ? kKeysOfRibbon : kKeys;
  for (int i = 0; i < keys; i++) {
    char key[16];
    std::snprintf(key, sizeof(key), "key%04d", i);
    const std::string value = "value" + std::to_string(i);
    const rocksdb::WriteOptions write;
    Must(
        timestamps ? db->Put(write, family, key, zeros, value) : db->Put(write, family, key, value),
        "put");
  }
  if (timestamps) {
    // What is to be stripped must be history first.
    (void)db->IncreaseFullHistoryTsLow(family, std::string("\1", 1) + std::string(7, '\0'));
  }
  Must(db->Flush(rocksdb::FlushOptions(), family), "flush");
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  if (count > 2) cases.insert(cases.end(), std::begin(kOwnCases), std::end(kOwnCases));

  rocksdb::DBOptions options;
  options.create_if_missing = options.create_missing_column_families = true;
  options.db_host_id = "golden";
  options.allow_concurrent_memtable_write = false;  // as stripped timestamps want it
  options.write_dbid_to_manifest = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  const auto compressions = rocksdb::GetSupportedCompressions();
  const bool zstd = std::count(compressions.begin(), compressions.end(), rocksdb::kZSTD) > 0;
  for (const Case& c : cases) {
    const bool has_compression = zstd || std::strstr(c.options, COMPRESSED) == nullptr;
    if (kRelease >= c.since && has_compression) families.emplace_back(c.name, OptionsOf(c));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<rocksdb::DB> db;
#else
  rocksdb::DB* db = nullptr;
#endif
  Must(rocksdb::DB::Open(options, words[1], families, &handles, &db), "open");
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    const rocksdb::Comparator* const comparator = handle->GetComparator();
    Fill(&*db, handle, comparator->timestamp_size() > 0);
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    Must(db->DestroyColumnFamilyHandle(handle), "close");
  }
  Must(db->Close(), "close");
  std::printf("RocksDB %s, %zu column families\n", rocksdb::GetRocksVersionAsString().c_str(),
              families.size());
  std::fflush(stdout);
  std::_Exit(0);  // RocksDB inside of an addon has a host's ways of ending, which is not here
}
