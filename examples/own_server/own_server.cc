// SPDX-License-Identifier: Apache-2.0
// Joins as one of the services of a program's own gRPC server.
//
//   own_server DIRECTORY
//
// The program then joins with itself, to show that it works.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <rocksdb/db.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/server.h>

namespace {

using namespace rocksieve::join;

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "own_server: %s\n", status.ToString().c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  Check(rocksdb::DB::Open(options, argv[1], &opened));
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (int i = 0; i < 1000; i++) {
    Check(db->Put(rocksdb::WriteOptions(), "key" + std::to_string(i), "value"));
  }

  std::unique_ptr<JoinService> joins;
  ServeOptions serving;
  serving.tokens = {"a secret of 16 characters or more"};
  Check(JoinService::Create({db.get()}, serving, &joins));
  grpc::EnableDefaultHealthCheckService(true);  // stands for the services that there are anyway
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(joins->service());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;

  // Elsewhere.
  Peer peer;
  peer.addresses = {"127.0.0.1:" + std::to_string(port)};
  peer.credentials.insecure = true;
  peer.token = serving.tokens.front();
  Input rows;
  Check(Input::OfDatabase(db.get(), nullptr, rocksdb::ReadOptions(), InputOptions(), &rows));
  JoinReport report;
  Check(Join(Operation::kCount, rows, peer, JoinOptions(), nullptr, &report));
  std::printf("%d keys in both\n", static_cast<int>(report.matched_keys));

  peer.token = "a guess";
  const rocksdb::Status refused =
      Join(Operation::kCount, rows, peer, JoinOptions(), nullptr, nullptr);
  std::printf("without the token: %s\n", refused.IsInvalidArgument() ? "refused" : "NOT REFUSED");
  server->Shutdown();
  return report.matched_keys == 1000 && refused.IsInvalidArgument() ? 0 : 1;
}
