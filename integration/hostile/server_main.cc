// A server that attacks its clients: each names the case by the column family that it asks for, and
// may add a seed, as in `rocksieve join --remote-column-family=mutated/17`.
// `hostile_server --list` names the cases; `hostile_server ROWS` serves until it is killed, and has
// the rows of a file, KEY<TAB>VALUE in each line.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "integration/hostile/server_cases.h"
#include "lib/transport/join_service.h"

namespace rocksieve::join {
namespace {

std::vector<ServerCase> AllCases() {
  std::vector<ServerCase> cases;
  AddFrameCases(&cases);
  AddClaimCases(&cases);
  AddRowCases(&cases);
  return cases;
}

MemorySource::Rows RowsIn(const char* path) {
  MemorySource::Rows rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    rows.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return rows;
}

class Service final : public v1::Join::Service {
 public:
  explicit Service(MemorySource::Rows rows) : rows_(std::move(rows)), cases_(AllCases()) {}

  grpc::Status Session(grpc::ServerContext*, ServerStream* stream) override {
    v1::Frame frame;
    if (!stream->Read(&frame)) return grpc::Status::OK;
    const std::string wanted = frame.start().column_family();
    const size_t slash = wanted.find('/');
    const uint64_t seed =
        slash == std::string::npos ? 1 : std::strtoull(&wanted[slash + 1], nullptr, 10);
    v1::Started* const started = frame.mutable_started();
    started->set_version(kTransportVersion);
    started->set_view("a view");
    stream->Write(frame);
    for (const ServerCase& one : cases_) {
      if (one.name == wanted.substr(0, slash))
        return one.play({rows_, seed, stream}), grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, "there is no case " + wanted};
  }

 private:
  const MemorySource::Rows rows_;
  const std::vector<ServerCase> cases_;
};

int Main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: hostile_server --list | ROWS\n", 2;
  if (std::string(argv[1]) == "--list") {
    for (const ServerCase& one : AllCases()) std::cout << one.name << "\n";
    return 0;
  }
  Service service(RowsIn(argv[1]));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return std::cerr << "hostile_server: cannot listen\n", 2;
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);
  return rocksieve::join::Main(argc, argv);
}
