// SPDX-License-Identifier: Apache-2.0
// Two races that are there on purpose, in threads that only RocksDB or gRPC knows: what makes the
// thread sanitizer quiet beside these libraries (cmake/thread_sanitizer.cmake) must not hide them.
//
//   planted_race rocksdb   a listener's event, and another thread
//   planted_race grpc      an extractor in a session of a server, and another thread
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/server.h>

#include "plugin/database/rocksdb_open.h"

namespace {

using DbPtr = std::unique_ptr<rocksdb::DB>;

int planted = 0;
std::atomic<bool> library_thread_was_there{false};

__attribute__((noinline)) void PlantedRaceOfTheLibrarysThread() {
  planted++;
  // Relaxed, so that it orders nothing.
  library_thread_was_there.store(true, std::memory_order_relaxed);
}

__attribute__((noinline)) void PlantedRaceOfTheOtherThread() {
  while (!library_thread_was_there.load(std::memory_order_relaxed)) std::this_thread::yield();
  planted++;
}

void Must(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

class PlantedListener final : public rocksdb::EventListener {
 public:
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    PlantedRaceOfTheLibrarysThread();
  }
};

DbPtr MakeDatabase(const std::string& path, rocksdb::Options options) {
  options.create_if_missing = true;
  DbPtr db;
  Must(rocksdb::DB::Open(options, path, rocksieve::Into(&db)));
  Must(db->Put(rocksdb::WriteOptions(), "key", "value"));
  return db;
}

void RaceWithAListener(rocksdb::DB* db) {
  rocksdb::FlushOptions without_waiting;
  without_waiting.wait = false;
  Must(db->Flush(without_waiting));
}

void RaceWithASession(rocksdb::DB* db) {
  using namespace rocksieve::join;
  ServedDatabase served;
  served.db = db;
  served.extractors["planted"] = [](std::string_view key, std::string_view, std::string* join_key) {
    PlantedRaceOfTheLibrarysThread();
    join_key->assign(key);
    return true;
  };
  Peer peer;
  peer.credentials.insecure = true;
  std::unique_ptr<JoinServer> server;
  Must(JoinServer::Start(served, "127.0.0.1:0", peer.credentials, {}, &server));
  peer.addresses = {"127.0.0.1:" + std::to_string(server->port())};
  peer.on = "@planted";
  Input input;
  Must(Input::OfDatabase(db, nullptr, {}, {}, &input));
  Must(Join(Operation::kCount, input, peer, {}, nullptr, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  const bool in_grpc = argc == 2 && std::string_view(argv[1]) == "grpc";
  rocksdb::Options options;
  if (!in_grpc) options.listeners.push_back(std::make_shared<PlantedListener>());
  std::string directory = (std::filesystem::temp_directory_path() / "planted_XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return 1;
  {
    const DbPtr db = MakeDatabase(directory + "/db", options);
    std::thread other(PlantedRaceOfTheOtherThread);
    in_grpc ? RaceWithASession(db.get()) : RaceWithAListener(db.get());
    other.join();
  }
  std::filesystem::remove_all(directory);
  return 0;
}
