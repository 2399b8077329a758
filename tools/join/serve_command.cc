// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <rocksieve/join/server.h>

#include "support/progress.h"
#include "support/text.h"
#include "tools/join/security_flags.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr int kGivenBackBytes = 256 << 10;  // and more, in one piece
constexpr int kTrimmedBytes = 1 << 20;      // of free memory at the end of the heap
constexpr int kMostHeaps = 2;
constexpr std::chrono::milliseconds kGrace(500);  // for sessions that are about to end
constexpr std::chrono::milliseconds kInterruptLook(100);

struct ServeFlags {
  std::string directory;
  std::string address;
  std::vector<std::string> column_families = {"default"};
  SecurityFlags security;
  int sessions = 8;
  int sessions_per_peer = 4;
  int memory_mib = 1024;
  int session_seconds = 6 * 3600;
  int silence_seconds = 120;
  int keep_seconds = 60;
  bool reflection = false;
  bool quiet = false;
};

void PrintSession(const join::SessionSummary& session) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::cerr << "rocksieve serve: " << session.peer << ": "
            << (session.status.ok() ? "done" : session.status.getState()) << ", "
            << Fixed(session.seconds, 2) << " s, " << Thousands(session.bytes_received)
            << " bytes received, " << Thousands(session.bytes_sent) << " sent\n";
}

Status OptionsOf(const ServeFlags& flags, join::ServeOptions* options) {
  options->most_sessions = static_cast<size_t>(flags.sessions);
  options->most_sessions_per_peer = static_cast<size_t>(flags.sessions_per_peer);
  options->memory_bytes = uint64_t(flags.memory_mib) << 20;
  options->session_time = std::chrono::seconds(flags.session_seconds);
  options->silence = std::chrono::seconds(flags.silence_seconds);
  options->keep = std::chrono::seconds(flags.keep_seconds);
  options->reflection = flags.reflection;
  if (flags.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  if (!flags.quiet) options->report = PrintSession;
  return ReadTokensOf(flags.security, &options->tokens);
}

Status Start(const ServeFlags& flags, std::unique_ptr<join::JoinServer>* server) {
  join::ServeOptions options;
  const Status status = OptionsOf(flags, &options);
  if (!status.ok()) return status;
  join::ServedDatabase served;
  served.directory = flags.directory;
  served.column_family_names = flags.column_families;
  return join::JoinServer::Start(served, flags.address, CredentialsOf(flags.security, "server"),
                                 options, server);
}

// "127.0.0.1:0" -> "127.0.0.1:40123".
std::string WithPort(const std::string& address, int port) {
  const size_t colon = address.rfind(':');
  return address.rfind("unix:", 0) == 0 ? address
                                        : address.substr(0, colon) + ":" + std::to_string(port);
}

// By default glibc keeps ever larger pieces that were freed, in a heap for each thread: with giant
// keys that is more than what sessions use.
void GiveFreedMemoryBack() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, kGivenBackBytes);
  mallopt(M_TRIM_THRESHOLD, kTrimmedBytes);
  mallopt(M_ARENA_MAX, kMostHeaps);
#endif
}

int RunServe(const ServeFlags& flags) {
  GiveFreedMemoryBack();
  setenv("GRPC_VERBOSITY", "NONE", 0);  // failed handshakes of others would fill the log
  {
    InterruptGuard guard;
    std::unique_ptr<join::JoinServer> server;
    const Status status = Start(flags, &server);
    if (!status.ok()) {
      std::cerr << "rocksieve serve: " << status.getState() << "\n";
      return kCannotRun;
    }
    std::cout << "listening on " << WithPort(flags.address, server->port()) << std::endl;
    while (InterruptSignal() == 0) std::this_thread::sleep_for(kInterruptLook);
    server->Shutdown(kGrace);
  }
  return kDone;  // a server is ended by a signal, and then all is well
}

void AddServeFlags(CLI::App* parser, ServeFlags* flags) {
  AddText(parser, "--db", &flags->directory, "DIR", "the database")->required();
  AddText(parser, "--listen", &flags->address, "ADDR", "address and port; port 0: any that is free")
      ->required();
  AddText(parser, "--column-family", &flags->column_families, "NAME",
          "serve only these; may be repeated. Default: default");
  AddSecurityFlags(parser, &flags->security);
  const auto number = [&](const char* name, int* value, int most, const char* description) {
    return parser->add_option(name, *value, description)
        ->type_name("N")
        ->check(CLI::Range(1, most));
  };
  number("--sessions", &flags->sessions, 1000, "at once; more are told to come again. Default: 8");
  number("--sessions-per-peer", &flags->sessions_per_peer, 1000,
         "of one certificate, or without TLS of one address. Default: 4")
      ->group(kRareFlags);
  number("--memory", &flags->memory_mib, 1 << 20, "MiB for all sessions together. Default: 1024");
  number("--session-time", &flags->session_seconds, 1 << 30, "seconds at most. Default: 21600")
      ->group(kRareFlags);
  number("--silence", &flags->silence_seconds, 1 << 20,
         "seconds until a silent client is given up. Default: 120")
      ->group(kRareFlags);
  number("--keep", &flags->keep_seconds, 1 << 20,
         "seconds that a broken session can be taken up again. Default: 60")
      ->group(kRareFlags);
  parser
      ->add_flag("--reflection", flags->reflection,
                 "gRPC's reflection service, too: for grpcurl and the like; it needs no token")
      ->group(kRareFlags);
  parser->add_flag("--quiet", flags->quiet, "no line on stderr for each session");
}

}  // namespace

Command AddServeCommand(CLI::App* parent) {
  const auto flags = std::make_shared<ServeFlags>();
  CLI::App* parser = AddParser(
      parent,
      {.name = "serve",
       .summary = "answer joins with a database's rows",
       .description = "Beside the process that owns the database, which may go on: each session "
                      "sees a frozen state of it, and nothing is written. TLS on both sides, "
                      "unless --insecure. Has gRPC's health service.",
       .exit_codes = "0 ended by a signal; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve serve --db=/var/db --listen=0.0.0.0:7420 "
                  "--certs=/etc/rocksieve"});
  AddServeFlags(parser, flags.get());
  return {parser, [flags] { return RunServe(*flags); }};
}

}  // namespace rocksieve::tools
