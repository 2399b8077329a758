// SPDX-License-Identifier: Apache-2.0
// Answers joins with the rows of a database that this program has open: as a service in the
// program's own gRPC server, or with a server of its own.
//
// Each session sees one unchanging state of the rows, by a snapshot and pinned iterators, and reads
// only. What a peer can make this side keep is bounded (docs/transport.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/status.h>
#include <rocksieve/join/export.h>
#include <rocksieve/join/input.h>
#include <rocksieve/join/operation.h>
#include <rocksieve/join/peer.h>
#include <rocksieve/join/report.h>

namespace grpc {
class Service;
}

namespace rocksieve::join {

struct ServedDatabase {
  rocksdb::DB* db = nullptr;
  // These can be asked for by name; the first if none is named. Empty: only the default one.
  std::vector<rocksdb::ColumnFamilyHandle*> column_families = {};
  // Without `db`: a database that another process may have open, as Input::OfDirectory() has it. A
  // session sees its rows as they are when the session begins.
  std::string directory = "";
  std::vector<std::string> column_family_names = {};  // as column_families; "*" alone: all
  Extractors extractors = {};                         // that peers may name: Peer::on = "@name"
  std::string temporary_directory = "";               // as in InputOptions
  std::shared_ptr<rocksdb::RateLimiter> rate_limiter = nullptr;  // likewise, of a directory
  // Where states of a directory are kept for peers that ask for it (DiffOptions::state_directory),
  // the newest four of each column family: on its file system, since table files are linked. These
  // take place on the disk for so long. Empty: nowhere.
  std::string states_directory = "";
};

// A session that has ended.
struct SessionSummary {
  std::string peer;
  rocksdb::Status status;
  double seconds = 0;
  uint64_t bytes_received = 0, bytes_sent = 0;
  bool admitted = true;                     // else it was refused before it began
  std::string certificate_name;             // of the peer; empty without TLS
  std::optional<Operation> operation = {};  // nothing if the peer did not come to say it
  uint64_t rows_sent = 0;                   // those of repeated ranges as often as they were sent
};

// Of all sessions together: less serves not one.
constexpr size_t kLeastServeMemoryBytes = size_t{2} << 20;

struct ServeOptions {
  size_t most_sessions = 8;           // at once; more are told to come again
  size_t most_sessions_per_peer = 4;  // by certificate, else by address
  // For all sessions together, whatever peers send; each has its share. Where many sessions have
  // too little of it, fewer are served at once. At least kLeastServeMemoryBytes.
  size_t memory_bytes = size_t{1} << 30;
  // That compute for all sessions together, beside one of each that reads and talks; 1: just that
  // one. 0: as many as there are processors.
  size_t threads = 0;
  std::vector<std::string> tokens;  // a peer needs one of them; none: no token
  std::chrono::milliseconds session_time = std::chrono::hours(6);  // at most
  std::chrono::milliseconds silence = std::chrono::seconds(120);   // until a peer is given up
  // How long a broken session's state of the rows is held, for the peer to come back to. It pins
  // files and a snapshot.
  std::chrono::milliseconds keep = std::chrono::seconds(60);
  std::function<void(const SessionSummary&)> report;  // from several threads at once; may be empty
  // Of JoinServer: gRPC's reflection service as well, if the program is linked with it. It
  // answers without a token.
  bool reflection = false;
  // Of JoinServer: sockets that listen already, as of a service manager, instead of an address of
  // its own. They become the server's.
  std::vector<int> listening = {};
};

// The service, for a grpc::ServerBuilder of the program:
//
//   std::unique_ptr<JoinService> joins;
//   status = JoinService::Create({db}, ServeOptions(), &joins);
//   builder.RegisterService(joins->service());
//
// Who may connect is then the program's concern: its server's credentials, and
// ServeOptions::tokens. Sessions have threads of their own, and take none of the server's. Must
// outlive the server; the database must outlive it.
class ROCKSIEVE_EXPORT JoinService {
 public:
  // InvalidArgument if there is no database, or not the column families that are named.
  static rocksdb::Status Create(const ServedDatabase& served, const ServeOptions& options,
                                std::unique_ptr<JoinService>* service);
  ~JoinService();

  grpc::Service* service() const;
  // Thread-safe.
  ServerCounters counters() const;

 private:
  class Impl;
  explicit JoinService(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// A server with nothing else in it than this service, and gRPC's own for health. Thread-safe.
class ROCKSIEVE_EXPORT JoinServer {
 public:
  // `address` as in "0.0.0.0:7420"; with port 0, any that is free; not used if the options have
  // sockets. InvalidArgument if the credentials do not fit or cannot be read, or the port is taken.
  static rocksdb::Status Start(const ServedDatabase& served, const std::string& address,
                               const Credentials& credentials, const ServeOptions& options,
                               std::unique_ptr<JoinServer>* server);
  // Cuts off what is under way.
  ~JoinServer();

  int port() const;
  // With the port: "127.0.0.1:7420".
  std::string address() const;
  ServerCounters counters() const;
  // New connections are taken by these certificates, as their files are now, and new sessions by
  // these tokens. Sessions under way go on; connections without one are closed. All stays as it was
  // if there is an error, as InvalidArgument of Start(). REQUIRES: Shutdown() was not called.
  rocksdb::Status Reload(const Credentials& credentials, const std::vector<std::string>& tokens);
  // Takes no new sessions; those that are not done by then are told to come again, and are cut off
  // soon after that. Blocks. Another thread may call it meanwhile, for a shorter grace.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit JoinServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// What these were called before.
using AnsweringService = JoinService;
using AnsweringServer = JoinServer;

}  // namespace rocksieve::join
