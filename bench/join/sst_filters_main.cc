// SPDX-License-Identifier: Apache-2.0
// A join that begins with the filters that lie in SST files: when its first byte leaves, how many
// bytes they are, what they drop, and what the whole join takes with and without. Every run is
// compared with the sets that were written.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksieve/filter_policy.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/server_session.h"
#include "plugin/database/rocksdb_open.h"
#include "plugin/join/rocksdb_source.h"
#include "plugin/join/sst_filters.h"
#include "support/work_dir.h"

namespace rocksieve::join {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

template <typename S>
void Must(const S& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "join_sst_filters: %s\n", status.ToString().c_str());
  std::exit(1);
}

// Key number i, of 16 bytes that look random; even numbers are the small side's own.
std::string KeyOf(uint64_t i) {
  std::string key(16, '\0');
  for (int half = 0; half < 2; half++) {
    uint64_t x = (2 * i + static_cast<uint64_t>(half) + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    std::copy_n(reinterpret_cast<const char*>(&x), 8, key.begin() + 8 * half);
  }
  return key;
}

rocksdb::Options OptionsWith(const std::string& filter) {
  rocksdb::BlockBasedTableOptions table;
  if (filter == "Bloom") {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  } else if (filter == "Ribbon") {
    table.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(10));
  } else if (filter != "none") {
    Must(NewFilterPolicy(filter, &table.filter_policy));
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.max_background_jobs = 2;
  return options;
}

// Keys begin .. end, in an order that leaves every file with keys from everywhere. Churned: a third
// of them overwritten later, and as many others written and deleted, without a compaction at the
// end.
std::unique_ptr<rocksdb::DB> MakeTree(const std::string& path, const std::string& filter,
                                      uint64_t begin, uint64_t end, bool churned) {
  std::unique_ptr<rocksdb::DB> db;
  Must(rocksdb::DB::Open(OptionsWith(filter), path, Into(&db)));
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  for (uint64_t i = begin; i < end; i++) Must(db->Put(write, KeyOf(i), "v"));
  if (churned) {
    constexpr uint64_t kElsewhere = uint64_t{1} << 40;
    for (uint64_t i = begin; i < end; i += 3) {
      Must(db->Put(write, KeyOf(i), "w"));
      Must(db->Put(write, KeyOf(kElsewhere + i), "gone"));
      Must(db->Delete(write, KeyOf(kElsewhere + i)));
    }
    Must(db->Flush(rocksdb::FlushOptions()));
  } else {
    Must(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  }
  return db;
}

class Ignore final : public Sink {
 public:
  absl::Status Add(const Row&, Side) override { return absl::OkStatus(); }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }
};

struct Outcome {
  double first_filter_byte_ms = -1, seconds = 0;
  uint64_t bytes = 0;
  Statistics statistics;
};

Outcome Run(Source* client_rows, Source* server_rows, Strategy strategy) {
  Ignore sink;
  ClientSessionOptions client_options;
  client_options.operation = Operation::kCount;
  client_options.salt = 0x5851f42d4c957f2d;
  client_options.planner.strategy = strategy;
  client_options.existing.decode_builtin = DecodeBuiltinFilter;
  ServerSessionOptions server_options;
  server_options.existing = client_options.existing;
  Outcome outcome;
  const Clock::time_point begin = Clock::now();
  ClientSession client(client_rows, &sink, client_options);
  ServerSession server(server_rows, server_options);
  Session* const sides[2] = {&client, &server};
  for (bool any = true; any;) {
    any = false;
    for (int from : {0, 1}) {
      for (;;) {
        const absl::StatusOr<std::string> message = sides[from]->Next();
        Must(message.status());
        if (message->empty()) break;
        any = true;
        outcome.bytes += message->size();
        if (outcome.first_filter_byte_ms < 0) {
          const absl::StatusOr<Message> decoded = Decode(*message);
          const Step* step = std::get_if<Step>(&*decoded);
          const bool filter = std::holds_alternative<Filters>(*decoded) ||
                              (step != nullptr && !step->message.empty());
          if (filter) outcome.first_filter_byte_ms = MillisecondsSince(begin);
        }
        Must(sides[1 - from]->Receive(*message));
      }
    }
  }
  outcome.seconds = MillisecondsSince(begin) / 1000;
  outcome.statistics = client.statistics();
  return outcome;
}

int Main(int argc, char** argv) {
  uint64_t keys = 1000000, small_keys = 100000;
  std::vector<std::string> filters = {"rocksieve.ribbon:10", "rocksieve.bloom:10", "Bloom",
                                      "Ribbon"};
  std::string json_path, directory;
  bool same_size = false;
  CLI::App app(
      "Joins that begin with filters in SST files. The small side is the client; half of its keys "
      "match.");
  app.add_option("--keys", keys, "of the large side (1000000)");
  app.add_option("--small-keys", small_keys, "of the small side (100000)");
  app.add_option("--filters", filters, "rocksieve's specs, Bloom, Ribbon")->delimiter(',');
  app.add_flag("--large-sends", same_size,
               "the large side has filters and the small side none, so that these are sent");
  app.add_option("--dir", directory, "where the databases go (a temporary directory)");
  app.add_option("--json", json_path, "a file for all figures");
  CLI11_PARSE(app, argc, argv);
  std::unique_ptr<WorkDir> work;
  Must(WorkDir::Create(directory, "join_sst_filters", &work));
  nlohmann::json rows = nlohmann::json::array();
  std::printf("%llu keys join %llu keys of 16 bytes, half of the former match.\n\n",
              static_cast<unsigned long long>(small_keys), static_cast<unsigned long long>(keys));
  std::printf(
      "tree       filters               first byte  filters  filter bytes  passed     all bytes  "
      "all bytes  first byte  chosen\n"
      "                                         ms               of these       %%  with them    "
      "without  without ms  by auto\n");
  int number = 0;
  for (const bool churned : {false, true}) {
    for (const std::string& filter : filters) {
      const std::string path = (work->path() / std::to_string(number++)).string();
      const auto small = MakeTree(path + "s", same_size ? "none" : filter, keys - small_keys / 2,
                                  keys + (small_keys + 1) / 2, churned);
      const auto large = MakeTree(path + "l", filter, 0, keys, churned);
      const auto client_rows = RocksDbSource::Open(small.get(), small->DefaultColumnFamily());
      const auto server_rows = RocksDbSource::Open(large.get(), large->DefaultColumnFamily());
      Must(client_rows.status());
      Must(server_rows.status());
      const Outcome with = Run(client_rows->get(), server_rows->get(), Strategy::kSstFilters);
      const Outcome without = Run(client_rows->get(), server_rows->get(), Strategy::kPingPong);
      const Outcome chosen = Run(client_rows->get(), server_rows->get(), Strategy::kAuto);
      const uint64_t common = small_keys / 2;
      for (const Outcome* outcome : {&with, &without, &chosen}) {
        if (outcome->statistics.matched_keys == common) continue;
        std::fprintf(stderr, "join_sst_filters: wrong result\n");
        return 1;
      }
      const Statistics& used = with.statistics;
      const bool by_client = used.existing_choice == ExistingFilterChoice::kClient;
      const double foreign = static_cast<double>(by_client ? keys - common : small_keys - common);
      const double passed =
          100 * (1 - static_cast<double>(used.sst_filters_pruned_keys) / foreign);
      std::printf("%-9s  %-20s  %10.2f  %7llu  %12llu  %6.3f  %9llu  %9llu  %10.1f  %s\n",
                  churned ? "churned" : "compacted", filter.c_str(), with.first_filter_byte_ms,
                  static_cast<unsigned long long>(used.sst_filters),
                  static_cast<unsigned long long>(used.sst_filter_bytes), passed,
                  static_cast<unsigned long long>(with.bytes),
                  static_cast<unsigned long long>(without.bytes), without.first_filter_byte_ms,
                  UsesExistingFilters(chosen.statistics.existing_choice) ? "yes" : "no");
      std::fflush(stdout);
      rows.push_back(
          {{"tree", churned ? "churned" : "compacted"},
           {"filter", filter},
           {"asking_keys", small_keys},
           {"answering_keys", keys},
           {"sent_by", by_client ? "asking" : "answering"},
           {"first_filter_byte_ms", with.first_filter_byte_ms},
           {"filters", used.sst_filters},
           {"filter_bytes", used.sst_filter_bytes},
           {"passed_percent", passed},
           {"bytes_with", with.bytes},
           {"bytes_without", without.bytes},
           {"bytes_auto", chosen.bytes},
           {"seconds_with", with.seconds},
           {"seconds_without", without.seconds},
           {"first_filter_byte_without_ms", without.first_filter_byte_ms}});
    }
  }
  if (!json_path.empty()) {
    std::FILE* const file = std::fopen(json_path.c_str(), "w");
    if (file == nullptr) {
      std::fprintf(stderr, "join_sst_filters: cannot write %s\n", json_path.c_str());
      return 1;
    }
    const std::string text = rows.dump(2) + "\n";
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  return 0;
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) { return rocksieve::join::Main(argc, argv); }
