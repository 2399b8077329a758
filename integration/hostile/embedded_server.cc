// SPDX-License-Identifier: Apache-2.0
// A program with a database of its own that answers joins by the public API:
//
//   embedded_server DIR MIB
//
// serves the database with so much memory for all sessions until its standard input ends. Speaks as
// `rocksieve serve` does.
#include <rocksieve/join/server.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>

#include "plugin/database/rocksdb_open.h"

namespace rocksieve::join {
namespace {

void Print(const SessionSummary& session) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::cerr << "rocksieve serve: " << session.peer << ": " << session.status.ToString() << "\n";
}

int Serve(const char* directory, size_t memory_mib) {
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::Status status = rocksdb::DB::Open(rocksdb::Options(), directory, Into(&db));
  std::unique_ptr<JoinServer> server;
  if (status.ok()) {
    ServedDatabase served;
    served.db = db.get();
    Credentials credentials;
    credentials.insecure = true;
    ServeOptions options;
    options.memory_bytes = memory_mib << 20;
    options.silence = std::chrono::seconds(2);
    options.most_sessions_per_peer = options.most_sessions;
    options.report = Print;
    status = JoinServer::Start(served, "127.0.0.1:0", credentials, options, &server);
  }
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 2;
  }
  std::cout << "listening on 127.0.0.1:" << server->port() << std::endl;
  while (std::getchar() != EOF) {
  }
  server->Shutdown(std::chrono::milliseconds(500));
  return 0;
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return rocksieve::join::Serve(argv[1], std::strtoul(argv[2], nullptr, 10));
}
