// SPDX-License-Identifier: Apache-2.0
#include "support/return_if_error.h"
#include "tools/command/command.h"

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <rocksieve/join/server.h>
#ifdef ROCKSIEVE_EXPORTER
#include <rocksieve/metrics_exporter.h>
#endif

#include "support/text.h"
#include "tools/join/joining.h"
#include "tools/join/serve_reports.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr int kGivenBackBytes = 256 << 10;  // and more, in one piece
constexpr int kTrimmedBytes = 1 << 20;      // of free memory at the end of the heap
constexpr int kMostHeaps = 2;
constexpr std::chrono::milliseconds kSignalLook(100);

struct ServeFlags {
  join::ServedDatabase served = {.column_family_names = {"default"}};
  join::ServeOptions options;
  uint64_t bytes_per_second = 0;
  std::string address;
  SecurityFlags security;
  int grace_seconds = 30;
  int ready_descriptor = -1;
  bool quiet = false;
  std::string log_format = "text";
  std::string metrics;
};

// Of sockets or an address, whichever there is.
Status ListeningOf(const ServeFlags& flags, join::ServeOptions* options) {
  options->listening = InheritedSockets();
  if (options->listening.empty() && flags.address.empty()) {
    return Status::InvalidArgument(
        "--listen is missing, and there is no socket of a service manager either: add "
        "--listen=ADDRESS:PORT");
  }
  if (!options->listening.empty() && !flags.address.empty()) {
    return Status::InvalidArgument("the service manager passed a socket, and there is --listen=" +
                                   flags.address + ", too: leave out --listen, or the socket unit");
  }
  if (flags.ready_descriptor >= 0 && fcntl(flags.ready_descriptor, F_GETFD) < 0) {
    return Status::InvalidArgument("--ready-fd: descriptor " +
                                   std::to_string(flags.ready_descriptor) +
                                   " is not open: open it, as in --ready-fd=3 3>FILE");
  }
  return Status::OK();
}

Status Start(const ServeFlags& flags, ServeLog* log, std::unique_ptr<join::JoinServer>* server) {
  join::ServeOptions options = flags.options;
  if (options.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  options.report = [log](const join::SessionSummary& session) { log->Session(session); };
  RETURN_IF_ERROR(ListeningOf(flags, &options));
  RETURN_IF_ERROR(ReadTokensOf(flags.security, &options.tokens));
  join::ServedDatabase served = flags.served;
  served.rate_limiter = RateLimiterOf(flags.bytes_per_second);
  return join::JoinServer::Start(served, flags.address, CredentialsOf(flags.security, "server"),
                                 options, server);
}

// By default glibc keeps ever larger pieces that were freed, in a heap for each thread: with large
// keys that is more than what sessions use.
void GiveFreedMemoryBack() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, kGivenBackBytes);
  mallopt(M_TRIM_THRESHOLD, kTrimmedBytes);
  mallopt(M_ARENA_MAX, kMostHeaps);
#endif
}

// Signals that are waited for instead of ending the process: in all threads that start from now on.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// 0 if none comes for so long.
int WaitForSignal(const sigset_t& signals, std::chrono::microseconds most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec wait = {seconds.count(), std::chrono::nanoseconds(most - seconds).count()};
  const int signal = sigtimedwait(&signals, nullptr, &wait);
  return signal < 0 ? 0 : signal;
}

// Once its sockets listen.
Status SayReady(const ServeFlags& flags, const std::string& address, ServeLog* log) {
  if (flags.log_format == "json") log->Event("info", "listening", "listening on " + address);
  std::cout << "listening on " << address << std::endl;
  TellReady("serving joins on " + address);
  if (flags.ready_descriptor < 0 || WriteReady(flags.ready_descriptor, address)) {
    return Status::OK();
  }
  return Status::IOError("--ready-fd: descriptor " + std::to_string(flags.ready_descriptor) +
                         " cannot be written to: whoever waits there is gone");
}

// New certificates and tokens, by the same flags; the old ones if they cannot be used.
void Reload(const ServeFlags& flags, join::JoinServer* server, Reloads* counts, ServeLog* log) {
  TellReloading();
  std::vector<std::string> tokens;
  Status status = ReadTokensOf(flags.security, &tokens);
  if (status.ok()) status = server->Reload(CredentialsOf(flags.security, "server"), tokens);
  (status.ok() ? counts->done : counts->failed)++;
  if (status.ok()) {
    log->Event("info", "reload", "certificates and tokens were read again");
    TellReady("serving joins on " + server->address());
  } else {
    const std::string message =
        "certificates and tokens stay as they were, for the new ones cannot be used: " +
        std::string(status.getState());
    log->Event("error", "reload", message);
    TellReady(message);
  }
}

// Lets sessions finish; a second signal ends them at once.
void End(const ServeFlags& flags, const sigset_t& signals, join::JoinServer* server,
         ServeLog* log) {
  const uint64_t sessions = server->counters().sessions;
  std::string status = "ending";
  if (sessions > 0 && flags.grace_seconds > 0) {
    status = "ending: " + Counted(sessions, "session") + " may go on for " +
             Counted(static_cast<uint64_t>(flags.grace_seconds), "second") +
             "; a second signal ends them now";
    log->Event("info", "ending", status);
  }
  TellStopping(status);
  std::atomic<bool> ended = false;
  std::thread ending([&] {
    server->Shutdown(std::chrono::seconds(flags.grace_seconds));
    ended = true;
  });
  while (!ended) {
    const int signal = WaitForSignal(signals, kSignalLook);
    if (signal == SIGINT || signal == SIGTERM) server->Shutdown(std::chrono::seconds(0));
    TellAlive();
  }
  ending.join();
}

int RunServe(const ServeFlags& flags) {
  GiveFreedMemoryBack();
  setenv("GRPC_VERBOSITY", "NONE", 0);  // failed handshakes of others would fill the log
  signal(SIGPIPE, SIG_IGN);  // whoever reads the log, or waits at --ready-fd, may be gone
  const sigset_t signals = BlockSignals();
  ServeLog log(flags.log_format == "json", flags.quiet);
  std::unique_ptr<join::JoinServer> server;
  Reloads reloads;
  Status status = Start(flags, &log, &server);
#ifdef ROCKSIEVE_EXPORTER
  std::unique_ptr<MetricsExporter> exporter;  // ends before what it reads
  if (status.ok() && !flags.metrics.empty()) {
    const auto collect = [&server, &reloads](std::vector<Metric>* metrics) {
      *metrics = MetricsOf(server->counters(), reloads);
    };
    status = MetricsExporter::Start(flags.metrics, collect, &exporter);
  }
#endif
  if (status.ok()) status = SayReady(flags, server->address(), &log);
  if (!status.ok()) {
    std::cerr << "rocksieve serve: " << status.getState() << "\n";
    return kCannotRun;
  }
  const std::chrono::microseconds watchdog = WatchdogInterval();
  const std::chrono::microseconds wait =
      watchdog.count() > 0 ? watchdog / 2 : std::chrono::hours(1);
  for (int signal = 0; signal != SIGINT && signal != SIGTERM;) {
    signal = WaitForSignal(signals, wait);
    if (signal == SIGHUP) Reload(flags, server.get(), &reloads, &log);
    // Sessions take the lock that this takes: where it is stuck, nothing is told.
    if (watchdog.count() > 0 && server->counters().sessions < UINT64_MAX) TellAlive();
  }
  End(flags, signals, server.get(), &log);
  return kDone;  // a server is ended by a signal, and then all is well
}

void AddServeFlags(Parser* parser, ServeFlags* flags) {
  join::ServeOptions* const options = &flags->options;
  AddText(parser, "--db", &flags->served.directory, "DIR", "the database")->required();
  AddText(parser, "--listen", &flags->address, "ADDR",
          "address and port (0: any); not with systemd's socket");
  AddText(parser, "--column-family", &flags->served.column_family_names, "NAME",
          "serve these; may be repeated; *: all there are. Default: default");
  AddSecurityFlags(parser, &flags->security);
  AddNumber(parser, "--sessions", &options->most_sessions, 1000,
            "at once; more are told to come again. Default: 8");
  AddRareNumber(parser, "--sessions-per-peer", &options->most_sessions_per_peer, 1000,
                "of one certificate, or without TLS of one address. Default: 4");
  AddNumber(parser, "--memory", &options->memory_bytes, 1 << 20,
            "MiB for all sessions together. Default: 1024", kMebibyte);
  AddRareNumber(parser, "--threads", &options->threads, 1024,
                "that compute for all sessions, beside one of each that reads. Default: all "
                "processors");
  AddRareNumber(parser, "--session-time", &options->session_time, 1 << 30,
                "seconds at most. Default: 21600", kSecond);
  AddRareNumber(parser, "--silence", &options->silence, 1 << 20,
                "seconds until a silent client is given up. Default: 120", kSecond);
  AddRareNumber(parser, "--keep", &options->keep, 1 << 20,
                "seconds that a broken session can be taken up again. Default: 60", kSecond);
  parser
      ->add_flag("--reflection", options->reflection,
                 "gRPC's reflection service, too: for grpcurl and the like; it needs no token")
      ->group(kRareFlags);
  parser
      ->add_option("--grace", flags->grace_seconds,
                   "seconds that sessions may go on after SIGTERM. Default: 30")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20))
      ->group(kRareFlags);
  AddText(parser, "--log", &flags->log_format, "text|json",
          "lines on stderr, or an object in each. Default: text")
      ->check(CLI::IsMember({"json", "text"}))
      ->group(kRareFlags);
  parser->add_flag("--quiet", flags->quiet, "no line on stderr for each session");
  parser
      ->add_option("--ready-fd", flags->ready_descriptor,
                   "descriptor that gets \"ready ADDRESS:PORT\" and is closed, once it listens")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20))
      ->group(kRareFlags);
#ifdef ROCKSIEVE_EXPORTER
  AddText(parser, "--metrics", &flags->metrics, "ADDR",
          "address and port for Prometheus, or a file /DIR/NAME.prom")
      ->group(kRareFlags);
#endif
  AddText(parser, "--states", &flags->served.states_directory, "DIR",
          "keep states of the database for `rocksieve diff --state`, by links to its files")
      ->group(kRareFlags);
  AddLimitFlag(parser, &flags->bytes_per_second);
  AddConfigFlag(parser);
}

}  // namespace

Command AddServeCommand(Parser* parent) {
  const auto flags = std::make_shared<ServeFlags>();
  Parser* parser = AddParser(
      parent,
      {.name = "serve",
       .summary = "answer joins with a database's rows",
       .description = "Beside the process that owns the database, which may go on: each session "
                      "sees a read-only snapshot, and nothing is written. TLS on both sides, "
                      "unless --insecure. Has gRPC's health service. SIGHUP reads certificates and "
                      "tokens again; SIGTERM lets sessions finish.",
       .exit_codes = "0 ended by SIGTERM or SIGINT; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve serve --db=/db --listen=0.0.0.0:7420 "
                  "--certs=/etc/rocksieve/certs"});
  AddServeFlags(parser, flags.get());
  return {parser, [flags] { return RunServe(*flags); }};
}

}  // namespace rocksieve::tools
