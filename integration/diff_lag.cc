// SPDX-License-Identifier: Apache-2.0
// Comparisons of a database that is being written with a copy of it that lags behind.
//
//   diff_lag [RUNS [ROWS]]
//
// A writer puts, changes and deletes random rows, as fast as a share of a core goes; each write
// reaches the copy after up to half a second. Faults are planted that no write repairs: rows lost,
// extra and changed in the copy. Each run compares the two with Diff() and a recheck, by a server
// of the copy, and counts what is said to have diverged: faults that were found, and rows that were
// none. Beside it, how many rows differ in two scans, which is what a plain comparison would
// report.
// Exit status 1 if a fault was missed once, or a row that is none was said to have diverged in a
// run in which the copy lagged less than rows are looked at again, or there was no such run.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/db.h>
#include <rocksieve/join/diff.h>
#include <rocksieve/join/server.h>

#include "plugin/database/rocksdb_open.h"

namespace rocksieve::join {
namespace {

using Clock = std::chrono::steady_clock;
using rocksdb::Status;

constexpr int kFaults = 20;
constexpr std::chrono::milliseconds kMostLag(500), kRecheck(2000);

void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "diff_lag: %s\n", status.ToString().c_str());
  std::exit(2);
}

std::string Key(uint64_t number) { return "row" + std::to_string(number); }

std::unique_ptr<rocksdb::DB> Open(const std::string& directory) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;  // flushes and compactions go on all the time
  std::unique_ptr<rocksdb::DB> db;
  Must(rocksdb::DB::Open(options, directory, Into(&db)));
  return db;
}

// Writes to the primary, and to the copy later.
class LaggingCopy {
 public:
  LaggingCopy(rocksdb::DB* primary, rocksdb::DB* copy, uint64_t rows)
      : primary_(primary), copy_(copy), rows_(rows) {
    for (uint64_t i = 0; i < rows; i++) {
      Must(primary->Put({}, Key(i), "first"));
      Must(copy->Put({}, Key(i), "first"));
    }
    writer_ = std::thread([this] { WriteOn(); });
    replicator_ = std::thread([this] { Replicate(); });
  }
  ~LaggingCopy() {
    done_ = true;
    writer_.join();
    replicator_.join();
  }

  uint64_t writes() const { return writes_; }
  // The longest time from a write here to the copy's, since the last call.
  std::chrono::milliseconds TakeMostLag() {
    return std::chrono::milliseconds(most_lag_ms_.exchange(0));
  }

 private:
  struct Write {
    Clock::time_point when, written;
    std::string key, value;  // none: it is deleted
  };

  static void Apply(rocksdb::DB* db, const Write& write) {
    Must(write.value.empty() ? db->Delete({}, write.key) : db->Put({}, write.key, write.value));
  }

  void WriteOn() {
    std::mt19937_64 random(1);
    while (!done_) {
      // Some rows are written all the time.
      const bool hot = random() % 4 == 0;
      const Clock::time_point now = Clock::now();
      Write write{now + kMostLag * (random() % 1000) / 1000, now,
                  Key(random() % (hot ? 100 : rows_)), ""};
      if (random() % 8 != 0) write.value = std::to_string(writes_);
      Apply(primary_, write);
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        // In the order of the writes: nobody overtakes.
        if (!queue_.empty()) write.when = std::max(write.when, queue_.back().when);
        queue_.push_back(std::move(write));
      }
      if (++writes_ % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  void Replicate() {
    for (;;) {
      std::vector<Write> due;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        while (!queue_.empty() && (done_ || queue_.front().when <= Clock::now())) {
          due.push_back(std::move(queue_.front()));
          queue_.pop_front();
        }
      }
      for (const Write& write : due) {
        Apply(copy_, write);
        const auto lag =
            std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - write.written);
        most_lag_ms_ = std::max<int64_t>(most_lag_ms_, lag.count());
      }
      if (due.empty() && done_) return;
      if (due.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  rocksdb::DB* const primary_;
  rocksdb::DB* const copy_;
  const uint64_t rows_;
  std::atomic<bool> done_ = false;
  std::atomic<uint64_t> writes_ = 0;
  std::atomic<int64_t> most_lag_ms_ = 0;  // of the replicator alone
  std::mutex mutex_;
  std::deque<Write> queue_;
  std::thread writer_, replicator_;
};

// Of rows that nobody else writes.
std::set<std::string> PlantFaults(rocksdb::DB* primary, rocksdb::DB* copy) {
  std::set<std::string> faults;
  for (int i = 0; i < kFaults; i++) {
    const std::string key = "row" + std::to_string(i) + " fault";
    if (i % 3 != 1) Must(primary->Put({}, key, "right"));
    if (i % 3 != 0) Must(copy->Put({}, key, "wrong"));
    faults.insert(key);
  }
  return faults;
}

uint64_t RowsThatDifferInScans(rocksdb::DB* primary, rocksdb::DB* copy) {
  const std::unique_ptr<rocksdb::Iterator> a(primary->NewIterator({})), b(copy->NewIterator({}));
  a->SeekToFirst();
  b->SeekToFirst();
  uint64_t different = 0;
  while (a->Valid() || b->Valid()) {
    const int order = !a->Valid() ? 1 : !b->Valid() ? -1 : a->key().compare(b->key());
    different += order != 0 || a->value() != b->value();
    if (order <= 0) a->Next();
    if (order >= 0) b->Next();
  }
  return different;
}

int Main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 100;
  const uint64_t rows = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
  std::string directory = std::filesystem::temp_directory_path() / "rocksieve_lag.XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return 2;
  int missed = 0, false_alarms = 0, judged = 0;
  {
    const std::unique_ptr<rocksdb::DB> primary = Open(directory + "/primary");
    const std::unique_ptr<rocksdb::DB> copy = Open(directory + "/copy");
    const std::set<std::string> faults = PlantFaults(primary.get(), copy.get());
    ServedDatabase served;
    served.db = copy.get();
    Peer peer;
    peer.credentials.insecure = true;
    std::unique_ptr<JoinServer> server;
    Must(JoinServer::Start(served, "127.0.0.1:0", peer.credentials, ServeOptions(), &server));
    peer.addresses = {server->address()};
    Input here;
    Must(Input::OfDatabase(primary.get(), nullptr, {}, {}, &here));
    DiffOptions options;
    options.values = false;
    options.recheck = kRecheck;
    LaggingCopy lagging(primary.get(), copy.get(), rows);
    std::printf("%5s  %9s  %14s  %11s  %9s  %12s\n", "run", "writes", "differ at once", "in scans",
                "transient", "faults found");
    for (int run = 1; run <= runs; run++) {
      const uint64_t in_scans = RowsThatDifferInScans(primary.get(), copy.get());
      std::set<std::string> found;
      int alarms = 0;
      DiffReport report;
      Must(Diff(
          here, peer, options,
          [&](const DifferentRow& row) {
            if (row.verdict != Verdict::kDiverged) return Status::OK();
            const std::string key(row.key);
            if (faults.count(key) == 0) {
              alarms++;
              std::printf("diverged, and is no fault: %s\n", key.c_str());
            }
            found.insert(key);
            return Status::OK();
          },
          &report));
      // A copy that lags longer than rows are looked at again is none of those that it is said of.
      const std::chrono::milliseconds lag = lagging.TakeMostLag();
      if (lag < kRecheck) {
        false_alarms += alarms;
        judged++;
      } else {
        std::printf("the copy was %lld ms behind: the run says nothing of false alarms\n",
                    static_cast<long long>(lag.count()));
      }
      for (const std::string& fault : faults) missed += found.count(fault) == 0;
      std::printf("%5d  %9llu  %14llu  %11llu  %9llu  %9zu/%d\n", run,
                  static_cast<unsigned long long>(lagging.writes()),
                  static_cast<unsigned long long>(report.local_only_rows + report.remote_only_rows +
                                                  report.changed_rows),
                  static_cast<unsigned long long>(in_scans),
                  static_cast<unsigned long long>(report.transient_rows), found.size(), kFaults);
      std::fflush(stdout);
    }
    server.reset();
  }
  std::filesystem::remove_all(directory);
  std::printf("%d runs: %d faults missed, %d rows wrongly said to have diverged\n", runs, missed,
              false_alarms);
  if (judged == 0) std::printf("the copy was too far behind in all of them\n");
  return missed + false_alarms == 0 && judged > 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) { return rocksieve::join::Main(argc, argv); }
