// SPDX-License-Identifier: Apache-2.0
// A database that is joined with itself: join_program DIRECTORY
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <rocksdb/db.h>

#include <rocksieve/join/join.h>
#include <rocksieve/join/server.h>

static void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  Check(rocksdb::DB::Open(options, argv[1], &opened));
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (int i = 0; i < 5000; i++) {
    Check(db->Put(rocksdb::WriteOptions(), "key" + std::to_string(i), ""));
  }
  rocksieve::join::ServedDatabase served;
  served.db = db.get();
  rocksieve::join::Peer peer;
  peer.credentials.insecure = true;
  std::unique_ptr<rocksieve::join::JoinServer> server;
  Check(rocksieve::join::JoinServer::Start(served, "127.0.0.1:0", peer.credentials, {}, &server));
  peer.addresses = {"127.0.0.1:" + std::to_string(server->port())};
  rocksieve::join::Input rows;
  Check(rocksieve::join::Input::OfDatabase(db.get(), nullptr, rocksdb::ReadOptions(), {}, &rows));
  rocksieve::join::JoinReport report;
  Check(Join(rocksieve::join::Operation::kCount, rows, peer, {}, nullptr, &report));
  std::printf("%d keys in both, %d in one only\n", static_cast<int>(report.matched_keys),
              static_cast<int>(report.local_only_keys + report.remote_only_keys));
}
