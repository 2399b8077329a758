// SPDX-License-Identifier: Apache-2.0
// Whether a RocksDB of any release, with rocksieve loaded into it, ever loses a key.
//
//   oracle [SPEC...]
//
// For each spec, and each way to use a filter (full or partitioned; of whole keys, prefixes, both):
// keys are written, overwritten, deleted, flushed and compacted at random, by option strings alone,
// as a program would that knows nothing of rocksieve. After each step all keys that can be are
// looked up, singly and in batches, and compared with a std::map. Then once more from the
// database's own OPTIONS file. Where the release allows it (9.8), the spec is also switched on the
// open database, to another and back.
//
// Prints a line for each case; the databases are in a directory of their own below $TMPDIR. Exit
// codes: 0 no key was lost and every file had the filter that was asked for; 1 not so; 2 the
// database cannot be opened with the spec. It uses RocksDB's public headers only, and compiles with
// those of 7.0 to 11.8.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/version.h>

#include "plugin/database/rocksdb_open.h"

namespace {

using rocksdb::Status;

constexpr int kUniverse = 6000;  // keys that can be; about half of them are, at any time
constexpr int kSteps = 6;
constexpr int kChangesPerStep = 6000;
constexpr size_t kPrefixBytes = 6;

struct Way {
  const char* name;
  const char* table_options;
  const char* family_options;
};

constexpr Way kWays[] = {
    {"full", "", ""},
    {"partitioned",
     "partition_filters=true;index_type=kTwoLevelIndexSearch;metadata_block_size=512;", ""},
    {"prefixes", "whole_key_filtering=false;", "prefix_extractor=fixed:6;"},
    {"keys and prefixes", "", "prefix_extractor=fixed:6;"},
    {"partitioned, keys and prefixes",
     "partition_filters=true;index_type=kTwoLevelIndexSearch;metadata_block_size=512;",
     "prefix_extractor=fixed:6;"},
};

[[noreturn]] void Fail(int code, const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "oracle: %s\n", what.c_str());
  std::exit(code);
}

void Must(const Status& status, const std::string& what) {
  if (!status.ok()) Fail(1, what + ": " + status.ToString());
}

// Some shorter than the prefix, some equal up to their last byte.
std::string KeyOf(int number) {
  const std::string digits = std::to_string(100000 + number);
  return number % 17 == 0 ? digits.substr(0, 5) + static_cast<char>('a' + number % 7)
                          : digits + std::string(number % 29, 'k') + digits;
}

class Case {
 public:
  Case(std::string path, std::string spec, const Way& way, uint32_t seed)
      : path_(std::move(path)), spec_(std::move(spec)), way_(way), random_(seed) {}

  void Run() {
    const std::string table = std::string("block_based_table_factory={") + way_.table_options +
                              "filter_policy=" + spec_ + ";};";
    const std::string text =
        "create_if_missing=true;write_buffer_size=65536;target_file_size_base=65536;"
        "max_bytes_for_level_base=262144;compression=kNoCompression;" +
        std::string(way_.family_options) + table;
    rocksdb::Options options;
    const Status parsed =
        rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), rocksdb::Options(), text, &options);
    if (!parsed.ok()) Fail(2, Name() + ": " + parsed.ToString());
    Open(options);
    for (int step = 0; step < kSteps; step++) {
      Change();
      Check();
    }
    CheckFilters(spec_);
    Switch();
    db_.reset();
    Reopen();
    Change();
    Check();
    CheckFilters(spec_);
    std::printf("%-34s %-34s %zu keys, %llu lookups ended at a filter\n", spec_.c_str(), way_.name,
                truth_.size(), static_cast<unsigned long long>(Useful()));
    std::fflush(stdout);
    if (Useful() == 0) Fail(1, Name() + ": no filter ever ended a lookup");
    db_.reset();
  }

 private:
  std::string Name() const { return spec_ + ", " + way_.name; }

  // Since 8.3 lookups in filters of prefixes alone are counted apart.
  uint64_t Useful() const {
    return statistics_->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL) +
           statistics_->getTickerCount(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
  }

  void Open(rocksdb::Options options) {
    statistics_ = rocksdb::CreateDBStatistics();
    options.statistics = statistics_;
    options_ = options;
    const Status status = rocksdb::DB::Open(options, path_, rocksieve::Into(&db_));
    if (!status.ok()) Fail(2, Name() + ": " + status.ToString());
  }

  void Reopen() {
#ifdef ROCKSIEVE_ORACLE_WITHOUT_OPTIONS_FILE  // some RocksDBs are linked without
                                              // LoadLatestOptions()
    Open(options_);
#else
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    Must(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path_, &db_options, &families),
         Name() + ", its OPTIONS file");
    Open(rocksdb::Options(db_options, families.at(0).options));
#endif
  }

  void Change() {
    for (int i = 0; i < kChangesPerStep; i++) {
      const std::string key = KeyOf(static_cast<int>(random_() % kUniverse));
      if (random_() % 2 == 0) {
        const std::string value = std::to_string(random_());
        Must(db_->Put(rocksdb::WriteOptions(), key, value), "Put");
        truth_[key] = value;
      } else {
        Must(db_->Delete(rocksdb::WriteOptions(), key), "Delete");
        truth_.erase(key);
      }
    }
    Must(db_->Flush(rocksdb::FlushOptions()), "Flush");
    if (random_() % 3 == 0) Compact();
  }

  void Compact() {
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    Must(db_->CompactRange(all, nullptr, nullptr), "CompactRange");
  }

  void CheckOne(const std::string& key, const Status& status, const std::string& value,
                const char* how) {
    const auto found = truth_.find(key);
    const bool right =
        found == truth_.end() ? status.IsNotFound() : status.ok() && value == found->second;
    if (!right) Fail(1, Name() + ": " + how + " of \"" + key + "\" is wrong: " + status.ToString());
  }

  void Check() {
    std::vector<std::string> batch;
    for (int number = 0; number < kUniverse; number++) {
      const std::string key = KeyOf(number);
      std::string value;
      const Status status = db_->Get(rocksdb::ReadOptions(), key, &value);
      CheckOne(key, status, value, "Get");
      batch.push_back(key);
      if (batch.size() == 32 || number + 1 == kUniverse) {
        const std::vector<rocksdb::Slice> keys(batch.begin(), batch.end());
        std::vector<std::string> values;
        const std::vector<Status> found = db_->MultiGet(rocksdb::ReadOptions(), keys, &values);
        for (size_t i = 0; i < batch.size(); i++)
          CheckOne(batch[i], found[i], values[i], "MultiGet");
        batch.clear();
      }
    }
    CheckPrefixes();
  }

  // Seeks that the prefix filter may answer.
  void CheckPrefixes() {
    rocksdb::ReadOptions same_prefix;
    same_prefix.prefix_same_as_start = true;
    const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(same_prefix));
    const bool has_prefixes = way_.family_options[0] != '\0';
    for (int number = 1; has_prefixes && number < kUniverse; number += 7) {
      const std::string prefix = KeyOf(number).substr(0, kPrefixBytes);
      auto expected = truth_.lower_bound(prefix);
      for (iterator->Seek(prefix); iterator->Valid(); iterator->Next(), ++expected) {
        if (expected == truth_.end() || iterator->key() != expected->first) {
          Fail(1, Name() + ": an iterator has \"" + iterator->key().ToString() +
                      "\" and not what is next");
        }
      }
      Must(iterator->status(), "an iterator");
      if (expected != truth_.end() && expected->first.compare(0, kPrefixBytes, prefix) == 0) {
        Fail(1, Name() + ": an iterator does not come to \"" + expected->first + "\"");
      }
    }
  }

  // auto may find that a file needs no filter.
  void CheckFilters(const std::string& spec) {
    rocksdb::TablePropertiesCollection tables;
    Must(db_->GetPropertiesOfAllTables(&tables), "GetPropertiesOfAllTables");
    if (tables.empty()) Fail(1, Name() + ": there is no table file");
    for (const auto& [file, properties] : tables) {
      const bool may_have_none = spec.find("auto") != std::string::npos;
      if (properties->filter_policy_name.rfind("rocksieve", 0) != 0 ||
          (properties->filter_size == 0 && !may_have_none)) {
        Fail(1, Name() + ": " + file + " has " + std::to_string(properties->filter_size) +
                    " bytes of filters of \"" + properties->filter_policy_name + "\"");
      }
    }
  }

  // Wrong specs and right ones, on the open database.
  void Switch() {
#if ROCKSDB_MAJOR > 9 || (ROCKSDB_MAJOR == 9 && ROCKSDB_MINOR >= 8)
    const std::string other =
        spec_ == "rocksieve.ribbon:10" ? "rocksieve.bloom:10" : "rocksieve.ribbon:10";
    for (const std::string& spec : {other, std::string("rocksieve.ribbon:0"), spec_}) {
      const bool is_wrong = spec == "rocksieve.ribbon:0";
      const Status status =
          db_->SetOptions({{"block_based_table_factory", "{filter_policy=" + spec + ";}"}});
      if (!is_wrong) Must(status, Name() + ", SetOptions to " + spec);
      Change();
      Compact();
      Check();
      if (is_wrong) {
        CheckHasAnyFilter();
      } else {
        CheckFilters(spec);
      }
    }
#endif
  }

  // A wrong spec must not cost a database its filters.
  void CheckHasAnyFilter() {
    rocksdb::TablePropertiesCollection tables;
    Must(db_->GetPropertiesOfAllTables(&tables), "GetPropertiesOfAllTables");
    for (const auto& [file, properties] : tables) {
      if (properties->filter_size == 0)
        Fail(1, Name() + ": a wrong spec left " + file + " without");
    }
  }

  const std::string path_, spec_;
  const Way way_;
  std::mt19937 random_;
  std::map<std::string, std::string> truth_;
  rocksdb::Options options_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> specs(argv + 1, argv + argc);
  if (specs.empty()) {
    specs = {"rocksieve.bloom:10", "rocksieve.cuckoo:12",        "rocksieve.ribbon:10",
             "rocksieve.range:12", "rocksieve.ribbon:1%:salted", "rocksieve.auto:10"};
  }
  namespace fs = std::filesystem;
  std::string directory = (fs::temp_directory_path() / "rocksieve-oracle-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) Fail(2, "cannot make " + directory);
  const char* const given = std::getenv("ROCKSIEVE_SEED");
  uint32_t seed = given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10))
                                   : std::random_device()();
  std::printf("RocksDB %s; to repeat: ROCKSIEVE_SEED=%u\n",
              rocksdb::GetRocksVersionAsString(true).c_str(), seed);
  for (const std::string& spec : specs) {
    for (const Way& way : kWays) {
      const std::string path = directory + "/" + std::to_string(seed);
      Case(path, spec, way, seed++).Run();
      fs::remove_all(path);
    }
  }
  fs::remove_all(directory);
}
