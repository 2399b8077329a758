// SPDX-License-Identifier: Apache-2.0
// Whether a RocksDB of any release, with filters of rocksieve.range, ever loses a row.
//
//   range_oracle [--operations=N] [--specs=SPEC,...] [--without]
//
// Databases of random shape (levels or universal, partitions, snapshots, merges, deletions of
// ranges, ingested files, files of other extractors and filters) are read by three threads with
// iterators of random options: two at a time on each thread, with bounds and seek keys in the same
// buffers, which are used again and again, and bounds that move between seeks. What they give is
// compared with a std::map, keys and values; so are Get and MultiGet. Another database with the
// same policy is written by the same threads.
//
// Ends after N operations (300,000) in whole databases. --specs: filters of these instead, for keys
// and prefixes, in tiny partitions more often than not; iterators ask in total order.
// --without: no filters, to tell RocksDB's own faults. Exit codes: 0 nothing was lost, and filters
// refused something; 1 not so; 2 a database cannot be opened. RocksDB's public headers and option
// strings only: compiles with those of 7.4 to 11.8.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/version.h>

#include "integration/range_walk.h"
#include "plugin/database/rocksdb_open.h"

namespace rocksieve {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

[[noreturn]] void Fail(int code, const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "range_oracle: %s\n", what.c_str());
  std::exit(code);
}

void Must(const Status& status, const std::string& what) {
  if (!status.ok()) Fail(2, what + ": " + status.ToString());
}

class Case {
 public:
  // `specs`: of filters other than those of ranges; may be empty.
  Case(std::string path, bool with_filters, const std::vector<std::string>& specs, uint64_t seed,
       Tally* tally)
      : path_(std::move(path)),
        with_filters_(with_filters),
        specs_(specs),
        random_(seed),
        tally_(*tally) {
    kind_ = static_cast<KeyKind>(random_() % 4);
    deletes_ranges_ = random_() % 2 == 0;
    merges_ = random_() % 2 == 0;
  }

  void Run() {
    options_ = RandomOptions();
    options_.statistics = rocksdb::CreateDBStatistics();
    Open(options_);
    Must(rocksdb::DB::Open(options_, path_ + "-other", Into(&other_)), "other database");
    Fill();
    if (random_() % 3 == 0) Ingest();
    if (random_() % 3 == 0) Must(db_->Flush(rocksdb::FlushOptions()), "Flush");
    if (random_() % 4 == 0 && states_.empty()) WriteOtherwise();
    states_.push_back({nullptr, rows_});
    // Tailing iterators know no deletions of ranges. And where a compaction ends between two merges
    // of a key, they give the first one twice: it has another sequence number then, so that the
    // place at which ForwardIterator::Next() stood is not found again. So they do in 7.8.3 with
    // filters that deny nothing.
    // Nor may what they seek be shorter than a fixed prefix.
    may_tail_ = !deletes_ranges_ && specs_.empty();
    const bool pauses = may_tail_ && merges_;
    if (pauses) Must(db_->PauseBackgroundWork(), "PauseBackgroundWork");
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) {
      threads.emplace_back([this, seed = random_()] { Read(seed); });
    }
    for (std::thread& thread : threads) thread.join();
    if (pauses) Must(db_->ContinueBackgroundWork(), "ContinueBackgroundWork");
    for (const State& state : states_) {
      if (state.snapshot != nullptr) db_->ReleaseSnapshot(state.snapshot);
    }
    db_.reset();
    other_.reset();
  }

  uint64_t refused() const {
    // Of keys, else of ranges.
    if (!specs_.empty()) return options_.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
    uint64_t refused = 0;
    for (const uint32_t ticker : kRefusedTickers) {
      refused += options_.statistics->getTickerCount(ticker);
    }
    return refused;
  }

 private:
  // Since 8.3 seeks that a filter ended are counted apart.
#if ROCKSDB_MAJOR > 8 || (ROCKSDB_MAJOR == 8 && ROCKSDB_MINOR >= 3)
  static constexpr uint32_t kRefusedTickers[] = {rocksdb::NON_LAST_LEVEL_SEEK_FILTERED,
                                                 rocksdb::LAST_LEVEL_SEEK_FILTERED};
#else
  static constexpr uint32_t kRefusedTickers[] = {rocksdb::BLOOM_FILTER_PREFIX_USEFUL};
#endif

  rocksdb::Options RandomOptions() {
    const auto choose = [&](const std::string& a, const std::string& b, uint64_t one_in = 2) {
      return random_() % one_in == 0 ? a : b;
    };
    std::string text =
        "create_if_missing=true;write_buffer_size=65536;target_file_size_base=8192;"
        "max_bytes_for_level_base=32768;max_bytes_for_level_multiplier=3;"
        "compression=kNoCompression;avoid_flush_during_shutdown=true;"
        "merge_operator=stringappend;";
    text += choose("compaction_style=kCompactionStyleUniversal;", "", 3);
    text += choose("memtable_prefix_bloom_size_ratio=0.1;", "");
    text += choose("memtable_whole_key_filtering=true;", "");
    text += choose("optimize_filters_for_hits=true;", "", 4);
    text += "max_sequential_skip_in_iterations=" + std::to_string(1 + random_() % 8) + ";";
    text += "level0_file_num_compaction_trigger=" + std::to_string(2 + random_() % 6) + ";";
    std::string table = "block_size=" + std::to_string(256 << random_() % 4) + ";";
    table += choose("no_block_cache=true;", choose("cache_index_and_filter_blocks=true;", ""), 3);
    const std::string partitions =
        "partition_filters=true;index_type=kTwoLevelIndexSearch;metadata_block_size=" +
        std::to_string(64 << random_() % 4) + ";";
    table += choose(specs_.empty() ? "" : partitions,
                    choose(partitions, choose("index_type=kBinarySearchWithFirstKey;", "", 4)));
    table += choose("whole_key_filtering=false;", "", 8);
    table += "format_version=" + std::to_string(2 + random_() % 4) + ";";
    if (!specs_.empty()) {
      // RocksDB ends the process where a key is shorter than a fixed prefix.
      const char* const prefixes =
          kind_ == KeyKind::kOddBytes ? "prefix_extractor=capped:3;" : "prefix_extractor=fixed:3;";
      text += choose("", prefixes, 3);
      table += "filter_policy=" + specs_[random_() % specs_.size()] + ";" +
               choose("optimize_filters_for_memory=true;", "") +
               choose("detect_filter_construct_corruption=true;", "");
      text += "max_subcompactions=2;";
      text += choose("listeners={rocksieve.listener};", "");
    } else if (with_filters_) {
      text += "prefix_extractor=rocksieve.range;";
      const std::string bits = std::to_string(6 + random_() % 15);
      table += "filter_policy=rocksieve." + choose("auto:" + bits + ":range", "range:" + bits, 3) +
               choose(":prefixes-3-8", "", 3) + choose(":order-5", "", 4) +
               choose(":salted", "", 3) + choose(":verified", "", 4) + ";";
    }
    text += "block_based_table_factory={" + table + "};";
    rocksdb::Options options;
    Must(
        rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), rocksdb::Options(), text, &options),
        text);
    return options;
  }

  void Open(const rocksdb::Options& options) {
    Must(rocksdb::DB::Open(options, path_, Into(&db_)), "a database");
  }

  void Change(int number) {
    const std::string key = RandomKey(kind_, &random_);
    const uint64_t what = random_() % 100;
    const rocksdb::WriteOptions write;
    if (what < 70) {
      rows_[key] = std::to_string(number) + std::string(random_() % 40, 'v');
      Must(db_->Put(write, key, rows_[key]), "Put");
    } else if (what < 85) {
      rows_.erase(key);
      Must(db_->Delete(write, key), "Delete");
    } else if (what < 95 && merges_) {
      const auto found = rows_.find(key);
      rows_[key] = found == rows_.end() ? "+" : found->second + ",+";
      Must(db_->Merge(write, key, "+"), "Merge");
    } else if (what < 97 && deletes_ranges_) {
      std::string begin = key, end = RandomKey(kind_, &random_);
      if (end < begin) std::swap(begin, end);
      if (random_() % 3 != 0) end = begin + '\1';
      Must(db_->DeleteRange(write, db_->DefaultColumnFamily(), begin, end), "DeleteRange");
      rows_.erase(rows_.lower_bound(begin), rows_.lower_bound(end));
    } else if (what >= 97 && !specs_.empty()) {
      // SingleDelete() is for keys that are written once.
      once_.push_back(key + "once" + std::to_string(once_.size()));
      rows_[once_.back()] = "once";
      Must(db_->Put(write, once_.back(), "once"), "Put");
      if (once_.size() % 2 == 0) {
        const std::string& deleted = once_[once_.size() / 2 - 1];
        rows_.erase(deleted);
        Must(db_->SingleDelete(write, deleted), "SingleDelete");
      }
    }
  }

  void Fill() {
    const int changes = 500 + static_cast<int>(random_() % 4000);
    for (int i = 0; i < changes; i++) {
      Change(i);
      if (random_() % 400 == 0) Must(db_->Flush(rocksdb::FlushOptions()), "Flush");
      if (random_() % 1500 == 0) {
        Must(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
      }
      if (random_() % 1200 == 0) states_.push_back({db_->GetSnapshot(), rows_});
      if (random_() % 1500 == 0 && states_.empty()) {
        db_.reset();
        Open(options_);
      }
    }
  }

  void Ingest() {
    const std::string file = path_ + ".sst";
    Rows added;
    for (int i = 0; i < 50; i++) added[RandomKey(kind_, &random_)] = "ingested";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    Must(writer.Open(file), "SstFileWriter");
    for (const auto& [key, value] : added) Must(writer.Put(key, value), "SstFileWriter");
    Must(writer.Finish(), "SstFileWriter");
    Must(db_->IngestExternalFile({file}, rocksdb::IngestExternalFileOptions()), "ingest");
    for (const auto& [key, value] : added) rows_[key] = value;
  }

  // Files of another extractor, of none, or with other filters, in the same database.
  void WriteOtherwise() {
    db_.reset();
    const char* const ways[] = {"prefix_extractor=fixed:3;", "prefix_extractor=nullptr;",
                                "block_based_table_factory={filter_policy=bloomfilter:10:false;};",
                                "block_based_table_factory={filter_policy=rocksieve.ribbon:8;};"};
    rocksdb::Options options;
    const std::string text = ways[random_() % (with_filters_ ? 4 : 3)];
    Must(rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), options_, text, &options), text);
    Open(options);
    for (int i = 0; i < 200; i++) Change(i);
    Must(db_->Flush(rocksdb::FlushOptions()), "Flush");
    db_.reset();
    Open(options_);
  }

  void Read(uint64_t seed) {
    Random random(seed);
    char buffers[2][kWalkBytes];
    for (int left = 3000; left > 0;) {
      const bool any_order = specs_.empty();
      Walk first(db_.get(), kind_, states_, may_tail_, any_order, buffers[0], &random, &tally_);
      Walk second(db_.get(), kind_, states_, may_tail_, any_order, buffers[1], &random, &tally_);
      for (uint64_t steps = 5 + random() % 30; steps > 0; steps--, left -= 2) {
        first.Step();
        if (random() % 2 == 0) second.Step();
        if (random() % 6 == 0) Get(&random);
        if (random() % 20 == 0) MultiGet(&random);
        if (random() % 10 == 0) {
          Must(other_->Put(rocksdb::WriteOptions(), RandomKey(kind_, &random), "x"), "Put");
        }
      }
    }
  }

  void CheckOne(const State& state, const std::string& key, const Status& status,
                const std::string& value, const char* how) {
    const auto found = state.rows.find(key);
    tally_.operations++;
    if (found == state.rows.end() ? status.IsNotFound() : status.ok() && value == found->second) {
      return;
    }
    if (IsSameWithout(state, key, status, value)) {
      tally_.wrong_without++;
    } else {
      tally_.Wrong(std::string(how) + ": " + status.ToString(), rocksdb::ReadOptions());
    }
  }

  // Whether the database, opened to read and without filters, gives the same wrong answer: of
  // merges above deleted ranges, 7.8.3 does so about once in ten million.
  bool IsSameWithout(const State& state, const std::string& key, const Status& status,
                     const std::string& value) {
#ifdef ROCKSIEVE_ORACLE_WITHOUT_OPTIONS_FILE  // such RocksDBs have no OpenForReadOnly() either
    (void)state, (void)key, (void)status, (void)value;
    return false;
#else
    rocksdb::Options options;
    Must(rocksdb::GetOptionsFromString(
             rocksdb::ConfigOptions(), options_,
             "prefix_extractor=nullptr;block_based_table_factory={filter_policy=nullptr;};",
             &options),
         "options without filters");
    options.statistics.reset();
    std::unique_ptr<rocksdb::DB> without;
    Must(rocksdb::DB::OpenForReadOnly(options, path_, Into(&without)), "to read only");
    rocksdb::ReadOptions read;
    read.snapshot = state.snapshot;
    std::string again;
    const Status found = without->Get(read, key, &again);
    return found.code() == status.code() && (!found.ok() || again == value);
#endif
  }

  void Get(Random* random) {
    const State& state = states_[(*random)() % states_.size()];
    rocksdb::ReadOptions read;
    read.snapshot = state.snapshot;
    const std::string key = once_.empty() || (*random)() % 8 != 0
                                ? RandomKey(kind_, random)
                                : once_[(*random)() % once_.size()];
    std::string value;
    CheckOne(state, key, db_->Get(read, key, &value), value, "Get");
  }

  void MultiGet(Random* random) {
    const State& state = states_[(*random)() % states_.size()];
    rocksdb::ReadOptions read;
    read.snapshot = state.snapshot;
    std::vector<std::string> keys(8), values;
    for (std::string& key : keys) key = RandomKey(kind_, random);
    const std::vector<Slice> slices(keys.begin(), keys.end());
    const std::vector<Status> found = db_->MultiGet(read, slices, &values);
    for (size_t i = 0; i < keys.size(); i++)
      CheckOne(state, keys[i], found[i], values[i], "MultiGet");
  }

  const std::string path_;
  const bool with_filters_;
  const std::vector<std::string>& specs_;
  Random random_;
  Tally& tally_;
  KeyKind kind_ = KeyKind::kNumber;
  bool deletes_ranges_ = false, merges_ = false, may_tail_ = false;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_, other_;
  Rows rows_;
  std::vector<std::string> once_;
  std::vector<State> states_;
};

int Main(int argc, char** argv) {
  uint64_t operations = 300'000;
  bool with_filters = true;
  std::vector<std::string> specs;
  for (int i = 1; i < argc; i++) {
    const std::string argument = argv[i], name = "--operations=", list = "--specs=";
    if (argument == "--without") {
      with_filters = false;
    } else if (argument.compare(0, list.size(), list) == 0) {
      std::istringstream words(argument.substr(list.size()));
      for (std::string spec; std::getline(words, spec, ',');) specs.push_back(spec);
    } else if (argument.compare(0, name.size(), name) == 0) {
      operations = std::strtoull(argument.c_str() + name.size(), nullptr, 10);
    } else {
      Fail(2, "usage: range_oracle [--operations=N] [--specs=SPEC,...] [--without]");
    }
  }
  namespace fs = std::filesystem;
  std::string directory = (fs::temp_directory_path() / "rocksieve-range-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) Fail(2, "cannot make " + directory);
  const char* const given = std::getenv("ROCKSIEVE_SEED");
  const uint64_t first_seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("RocksDB %s; to repeat: ROCKSIEVE_SEED=%llu\n",
              rocksdb::GetRocksVersionAsString(true).c_str(),
              static_cast<unsigned long long>(first_seed));
  Tally tally;
  uint64_t seed = first_seed, refused = 0;
  for (; tally.operations < operations; seed++) {
    const std::string path = directory + "/" + std::to_string(seed);
    const uint64_t wrong = tally.wrong;
    Case one(path, with_filters, specs, seed, &tally);
    one.Run();
    refused += one.refused();
    if (tally.wrong > wrong) {
      std::printf("in the database of ROCKSIEVE_SEED=%llu\n",
                  static_cast<unsigned long long>(seed));
    }
    fs::remove_all(path);
    fs::remove_all(path + "-other");
  }
  fs::remove_all(directory);
  std::printf(
      "%llu databases, %llu operations, %llu wrong, %llu wrong without filters as well, %llu "
      "refused by filters\n",
      static_cast<unsigned long long>(seed - first_seed),
      static_cast<unsigned long long>(tally.operations.load()),
      static_cast<unsigned long long>(tally.wrong.load()),
      static_cast<unsigned long long>(tally.wrong_without.load()),
      static_cast<unsigned long long>(refused));
  if (with_filters && refused == 0) Fail(1, "no filter ever refused anything");
  // RocksDB's own faults are rare; more of them would not be its own.
  if (tally.wrong_without > 2 + tally.operations / 1'000'000) Fail(1, "too many wrong answers");
  return tally.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksieve

int main(int argc, char** argv) { return rocksieve::Main(argc, argv); }
