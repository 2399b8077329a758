// SPDX-License-Identifier: Apache-2.0
// diff_cpu: what a comparison of two databases that are equal costs beyond RocksDB's own scans, in
// processor time of this process, which does all of it: opens both, reads them by RocksDB's
// iterators alone, or compares them, or serves one of them to itself. The least of some rounds,
// one after the other, so that they share whatever else the machine does.
// Usage: diff_cpu HERE THERE [ROUNDS [WAY]], with a way for a profile of it alone. Prints a JSON
// object, nanoseconds for each row of either.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksieve/join/diff.h>
#include <rocksieve/join/server.h>

#include "bench/clock.h"
#include "bench/program.h"
#include "plugin/database/read_only_snapshot.h"

namespace rocksieve::bench {
namespace {

void Must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// By the read options of plugin/join/rocksdb_source.cc. The number of rows.
uint64_t Scan(const std::string& directory) {
  std::unique_ptr<ReadOnlySnapshot> database;
  Must(ReadOnlySnapshot::Open(directory, rocksdb::kDefaultColumnFamilyName, &database));
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.total_order_seek = true;
  read.readahead_size = 1 << 20;
  const std::unique_ptr<rocksdb::Iterator> row(
      database->db()->NewIterator(read, database->column_family()));
  uint64_t rows = 0, bytes = 0;
  for (row->SeekToFirst(); row->Valid(); row->Next()) {
    rows++;
    bytes += row->key().size() + row->value().size();
  }
  Must(row->status());
  if (rows == 0 || bytes == 0) throw std::runtime_error("there are no rows in " + directory);
  return rows;
}

join::Input InputOf(const std::string& directory) {
  join::Input input;
  Must(join::Input::OfDirectory(directory, "", join::InputOptions(), &input));
  return input;
}

void CheckEqual(const rocksdb::Status& status, const join::DiffReport& report) {
  Must(status);
  if (report.verdict != join::Verdict::kMatch) throw std::runtime_error("they are not equal");
}

int Main(int argc, char** argv) {
  if (argc < 3) throw std::runtime_error("usage: diff_cpu HERE THERE [ROUNDS]");
  const std::string here = argv[1], there = argv[2];
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 3;
  setenv("GRPC_VERBOSITY", "NONE", 0);
  join::ServedDatabase served;
  served.directory = there;
  join::Credentials credentials;
  credentials.insecure = true;
  std::unique_ptr<join::JoinServer> server;
  Must(join::JoinServer::Start(served, "127.0.0.1:0", credentials, {}, &server));
  join::Peer peer;
  peer.addresses = {server->address()};
  peer.credentials = credentials;
  join::DiffOptions options;
  options.values = false;
  uint64_t rows = 0;
  struct Way {
    const char* name;
    std::function<void()> go;
    double ns = 1e18;
  };
  std::vector<Way> ways = {
      {"scans", [&] { rows = Scan(here) + Scan(there); }},
      {"directories",
       [&] {
         join::DiffReport report;
         CheckEqual(join::Diff(InputOf(here), InputOf(there), options, nullptr, &report), report);
       }},
      {"server", [&] {
         join::DiffReport report;
         CheckEqual(join::Diff(InputOf(here), peer, options, nullptr, &report), report);
       }}};
  for (int i = 0; i < rounds; i++) {
    for (Way& way : ways) {
      if (argc > 4 && i > 0 && std::string(argv[4]) != way.name) continue;
      const double begin = CpuClock::Nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
      way.go();
      way.ns = std::min(way.ns, CpuClock::Nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
    }
  }
  nlohmann::json costs;
  for (const Way& way : ways) {
    costs[std::string(way.name) + "_ns"] = way.ns / static_cast<double>(rows);
  }
  std::cout << costs << "\n";
  return 0;
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  return rocksieve::bench::RunProgram("diff_cpu", rocksieve::bench::Main, argc, argv);
}
