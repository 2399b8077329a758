// SPDX-License-Identifier: Apache-2.0
// Servers of joins for C: the part of rocksieve/c.h that is in librocksieve_join.so.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <rocksieve/c.h>
#include <rocksieve/join/server.h>

#include "plugin/join_api/c_settings.h"

namespace rocksieve::join {

// What is set is kept as it was said, and read when the server is started.
struct CServer {
  std::string directory, listen, token_file;
  std::vector<std::string> column_families;
  Credentials credentials;
  ServeOptions options;
  std::unique_ptr<JoinServer> server;  // once it was started
  std::string address;
};

namespace {

const CSetters<CServer>& ServerSetters() {
  using Settings = CSettings<CServer>;
  using std::chrono::seconds;
  constexpr uint64_t kMostSeconds = uint64_t{1} << 30, kMostSessions = 1000;
  static const auto* const setters = new CSetters<CServer>{
      {"db", Settings::Text([](CServer* server) -> std::string& { return server->directory; })},
      {"listen", Settings::Text([](CServer* server) -> std::string& { return server->listen; })},
      {"column-family",
       [](CServer* server, const std::string&, const std::string& value) {
         server->column_families.push_back(value);
         return rocksdb::Status::OK();
       }},
      {"ca", Settings::Text([](CServer* server) -> std::string& {
         return server->credentials.authority_file;
       })},
      {"cert", Settings::Text([](CServer* server) -> std::string& {
         return server->credentials.certificate_file;
       })},
      {"key", Settings::Text(
                  [](CServer* server) -> std::string& { return server->credentials.key_file; })},
      {"insecure",
       Settings::Bool([](CServer* server) -> bool& { return server->credentials.insecure; })},
      {"insecure-network", Settings::Bool([](CServer* server) -> bool& {
         return server->credentials.insecure_network;
       })},
      {"token-file",
       Settings::Text([](CServer* server) -> std::string& { return server->token_file; })},
      {"sessions", Settings::Number(kMostSessions,
                                    [](CServer* server, uint64_t sessions) {
                                      server->options.most_sessions = sessions;
                                    })},
      {"sessions-per-peer", Settings::Number(kMostSessions,
                                             [](CServer* server, uint64_t sessions) {
                                               server->options.most_sessions_per_peer = sessions;
                                             })},
      {"memory", Settings::Number(uint64_t{1} << 20,
                                  [](CServer* server, uint64_t mib) {
                                    server->options.memory_bytes = mib << 20;
                                  })},
      {"session-time", Settings::Number(kMostSeconds,
                                        [](CServer* server, uint64_t value) {
                                          server->options.session_time = seconds(value);
                                        })},
      {"silence", Settings::Number(kMostSeconds,
                                   [](CServer* server, uint64_t value) {
                                     server->options.silence = seconds(value);
                                   })},
      {"keep", Settings::Number(
                   kMostSeconds,
                   [](CServer* server, uint64_t value) { server->options.keep = seconds(value); })},
  };
  return *setters;
}

rocksdb::Status StartServer(CServer* server) {
  using rocksdb::Status;
  if (server == nullptr) return Status::InvalidArgument("there is no server");
  if (server->server != nullptr) return Status::InvalidArgument("it serves already");
  if (server->directory.empty()) return Status::InvalidArgument("set db, the database");
  if (server->listen.empty()) {
    return Status::InvalidArgument("set listen, the address, such as 127.0.0.1:7420");
  }
  ServeOptions options = server->options;
  if (!server->token_file.empty()) {
    const Status status = ReadTokens(server->token_file, &options.tokens);
    if (!status.ok()) return status;
  }
  ServedDatabase served;
  served.directory = server->directory;
  served.column_family_names = server->column_families;
  const Status status =
      JoinServer::Start(served, server->listen, server->credentials, options, &server->server);
  if (status.ok()) server->address = server->server->address();
  return status;
}

}  // namespace
}  // namespace rocksieve::join

struct rocksieve_server_t : rocksieve::join::CServer {};

rocksieve_server_t* rocksieve_server_create(char** error) {
  return rocksieve::WithoutThrowing<rocksieve_server_t*>(nullptr, error,
                                                         [] { return new rocksieve_server_t; });
}

unsigned char rocksieve_server_set(rocksieve_server_t* server, const char* name, const char* value,
                                   char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (server != nullptr && server->server != nullptr) {
      return rocksdb::Status::InvalidArgument("it serves already; set it before the start");
    }
    return rocksieve::join::SetByName<rocksieve::join::CServer>(rocksieve::join::ServerSetters(),
                                                                "server", server, name, value);
  });
}

unsigned char rocksieve_server_start(rocksieve_server_t* server, char** error) {
  return rocksieve::join::Succeeds(error, [&] { return rocksieve::join::StartServer(server); });
}

const char* rocksieve_server_address(const rocksieve_server_t* server) {
  return server == nullptr ? "" : server->address.c_str();
}

unsigned char rocksieve_server_counts(const rocksieve_server_t* server,
                                      rocksieve_server_counts_t* counts, char** error) {
  return rocksieve::join::Succeeds(error, [&] {
    if (server == nullptr || counts == nullptr) {
      return rocksdb::Status::InvalidArgument("there is no server, or no place for the counts");
    }
    *counts = {};
    if (server->server == nullptr) return rocksdb::Status::OK();
    const rocksieve::join::ServerCounters now = server->server->counters();
    counts->sessions = now.sessions;
    counts->done = now.done;
    for (const auto& [status, number] : now.failed) counts->failed += number;
    for (const auto& [status, number] : now.refused) counts->refused += number;
    counts->rows_sent = now.rows_sent;
    counts->bytes_sent = now.bytes_sent;
    counts->bytes_received = now.bytes_received;
    return rocksdb::Status::OK();
  });
}

void rocksieve_server_stop(rocksieve_server_t* server, uint64_t grace_milliseconds) {
  constexpr uint64_t kMostGrace = uint64_t{24} * 3600 * 1000;
  rocksieve::join::Succeeds(nullptr, [&] {
    if (server != nullptr && server->server != nullptr) {
      server->server->Shutdown(std::chrono::milliseconds(std::min(grace_milliseconds, kMostGrace)));
    }
    return rocksdb::Status::OK();
  });
}

void rocksieve_server_destroy(rocksieve_server_t* server) { delete server; }
