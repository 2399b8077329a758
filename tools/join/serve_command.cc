#include "join/serve_command.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>

#include "exit_code.h"
#include "support/interrupt.h"
#include "join/frozen_source.h"
#include "join/security_flags.h"
#include "join/sst_filters.h"
#include "support/text.h"
#include "transport/server.h"

namespace rocksieve::tools {
namespace {

constexpr int kGivenBackBytes = 256 << 10;  // and more, in one piece
constexpr int kTrimmedBytes = 1 << 20;      // of free memory at the end of the heap
constexpr int kMostHeaps = 2;
constexpr std::chrono::milliseconds kGrace(500);  // for sessions that are about to end
constexpr std::chrono::milliseconds kLook(100);

struct Flags {
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

join::OpenView ViewsOf(const Flags& flags) {
  return [flags](const join::ViewRequest& request,
                 const join::ViewTerms& terms) -> absl::StatusOr<join::View> {
    const std::string& wanted =
        request.column_family.empty() ? flags.column_families.front() : request.column_family;
    const auto& served = flags.column_families;
    if (std::count(served.begin(), served.end(), wanted) == 0) {
      return absl::PermissionDeniedError(absl::StrCat(
          "column family \"", wanted, "\" is not served, but ", absl::StrJoin(served, ", "),
          ": ask for one of these, or serve it with --column-family"));
    }
    absl::StatusOr<FrozenFamily> family = FreezeFamily(flags.directory, wanted);
    if (!family.ok()) return family.status();
    join::SortOptions sort;
    sort.memory_bytes = terms.sort_memory_bytes;
    sort.kept_memory_bytes = terms.kept_memory_bytes;
    absl::StatusOr<std::unique_ptr<join::Source>> source =
        SourceOf(*family, request.on, sort, terms.cancellation);
    if (!source.ok()) return source.status();
    return join::View{*std::move(source), family->database};
  };
}

void Print(const join::SessionReport& report) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::cerr << "rocksieve serve: " << report.peer << ": "
            << (report.status.ok() ? "done" : std::string(report.status.message())) << ", "
            << Fixed(report.seconds, 2) << " s, " << Thousands(report.counts.bytes_received)
            << " bytes received, " << Thousands(report.counts.bytes_sent) << " sent\n";
}

// As messages of RocksDB and of temporary files may have them.
std::vector<std::string> DirectoriesOf(const Flags& flags) {
  std::error_code unknown;
  const char* const temporary = std::getenv("TMPDIR");
  return {std::filesystem::canonical(flags.directory, unknown).string(), flags.directory,
          temporary == nullptr ? "" : temporary};
}

absl::StatusOr<join::ServerOptions> OptionsOf(const Flags& flags) {
  join::ServerOptions options;
  options.address = flags.address;
  options.security = SecurityOf(flags.security, "server");
  options.reflection = flags.reflection;
  if (flags.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  join::JoinServiceOptions* service = &options.service;
  absl::StatusOr<std::vector<std::string>> tokens = TokensOf(flags.security);
  if (!tokens.ok()) return tokens.status();
  service->tokens = *std::move(tokens);
  service->most_sessions = static_cast<size_t>(flags.sessions);
  service->most_sessions_per_peer = static_cast<size_t>(flags.sessions_per_peer);
  service->session_time = std::chrono::seconds(flags.session_seconds);
  service->limits.exchange.silence = std::chrono::seconds(flags.silence_seconds);
  service->views.keep = std::chrono::seconds(flags.keep_seconds);
  service->directories = DirectoriesOf(flags);
  service->memory_bytes = uint64_t(flags.memory_mib) << 20;
  service->answering.ready.decode_builtin = join::DecodeBuiltinFilter;
  if (!flags.quiet) service->report = Print;
  return options;
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

int Run(const Flags& flags) {
  GiveFreedMemoryBack();
  setenv("GRPC_VERBOSITY", "NONE", 0);  // failed handshakes of others would fill the log
  {
    InterruptGuard guard;
    const auto fail = [](const absl::Status& status) {
      std::cerr << "rocksieve serve: " << status.message() << "\n";
      return kCannotRun;
    };
    const absl::StatusOr<join::ServerOptions> options = OptionsOf(flags);
    if (!options.ok()) return fail(options.status());
    // Better now than at the first join.
    for (const std::string& name : flags.column_families) {
      const absl::StatusOr<FrozenFamily> family = FreezeFamily(flags.directory, name);
      if (!family.ok()) return fail(family.status());
    }
    const absl::StatusOr<std::unique_ptr<join::JoinServer>> server =
        join::JoinServer::Start(ViewsOf(flags), *options);
    if (!server.ok()) return fail(server.status());
    std::cout << "listening on " << WithPort(flags.address, (*server)->port()) << std::endl;
    while (InterruptSignal() == 0) std::this_thread::sleep_for(kLook);
    (*server)->Shutdown(kGrace);
  }
  return kDone;  // a server is ended by a signal, and then all is well
}

void AddFlags(CLI::App* parser, Flags* flags) {
  parser->add_option("--db", flags->directory, "the database")
      ->type_name("DIR")
      ->required()
      ->check(NotEmpty());
  parser->add_option("--listen", flags->address, "address and port; port 0: any that is free")
      ->type_name("ADDR")
      ->required()
      ->check(NotEmpty());
  parser
      ->add_option("--column-family", flags->column_families,
                   "serve only these; may be repeated. Default: default")
      ->type_name("NAME")
      ->check(NotEmpty());
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
         "seconds until a silent asking side is given up. Default: 120")
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
  const auto flags = std::make_shared<Flags>();
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
  AddFlags(parser, flags.get());
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
