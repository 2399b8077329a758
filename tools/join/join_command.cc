#include "join/join_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <absl/strings/str_cat.h>

#include "exit_code.h"
#include "support/interrupt.h"
#include "join/frozen_source.h"
#include "join/join_progress.h"
#include "join/join_report.h"
#include "join/join_run.h"
#include "join/result_output.h"
#include "join/security_flags.h"
#include "join/sst_filters.h"
#include "transport/address.h"
#include "transport/strategy.h"

namespace rocksieve::tools {
namespace {

constexpr std::chrono::milliseconds kLook(50);

struct Flags {
  JoinRunOptions run;
  std::string remotes;
  std::string operation;
  std::string output = "-";
  std::string format = "tsv";
  SecurityFlags security;
  int seconds = 24 * 3600;
  int silence_seconds = 120;
  std::string explain;  // "plan", "analyze" or nothing
  int largest_row_mib = 256;
  int memory_mib = 1024;
  bool progress = false;
  bool json = false;
};

absl::Status Complete(Flags* flags) {
  JoinRunOptions* const run = &flags->run;
  absl::StatusOr<std::vector<std::string>> addresses = join::SplitAddresses(flags->remotes);
  if (!addresses.ok()) return addresses.status();
  run->addresses = *std::move(addresses);
  run->remote.asking.operation = *join::OperationNamed(flags->operation);
  const absl::Status strategy =
      join::ForceStrategy(run->remote.strategy, &run->remote.asking.planner);
  if (!strategy.ok()) return strategy;
  const absl::StatusOr<std::vector<std::string>> tokens = TokensOf(flags->security);
  if (!tokens.ok()) return tokens.status();
  if (!tokens->empty()) run->token = tokens->front();
  run->security = SecurityOf(flags->security, "client");
  run->remote.asking.ready.decode_builtin = join::DecodeBuiltinFilter;
  run->remote.asking.most_row_bytes = uint64_t(flags->largest_row_mib) << 20;
  run->remote.memory_bytes = uint64_t(flags->memory_mib) << 20;
  run->sort_memory_bytes = std::min<size_t>(run->sort_memory_bytes, run->remote.memory_bytes / 2);
  run->remote.keep_ranges = flags->explain == "analyze";
  run->remote.limits.exchange.silence = std::chrono::seconds(flags->silence_seconds);
  const bool rows = run->remote.asking.operation != join::Operation::kCount;
  if (flags->output != "-" && (!rows || flags->explain == "plan")) {
    return absl::InvalidArgumentError(
        "--output=FILE is for rows, and there will be none: leave it "
        "out, or choose another --op, or --explain=analyze");
  }
  if (flags->json && rows && flags->output == "-" && flags->explain != "plan") {
    return absl::InvalidArgumentError(
        "--json prints the report where the rows would go: add --output=FILE");
  }
  return absl::OkStatus();
}

OutputOptions OutputOf(const Flags& flags) {
  OutputOptions output;
  output.path = flags.output;
  output.format = flags.format == "sst"    ? RowFormat::kSst
                  : flags.format == "json" ? RowFormat::kJson
                                           : RowFormat::kTsv;
  output.show_side = flags.run.remote.asking.operation == join::Operation::kSymmetric;
  output.local_is_packed = IsAttribute(flags.run.left_on);
  output.remote_is_packed = IsAttribute(flags.run.remote.request.on);
  output.sorting.memory_bytes = flags.run.sort_memory_bytes;
  return output;
}

// Ctrl-C ends the join, whatever it waits for.
class Interrupter {
 public:
  explicit Interrupter(join::Cancellation* cancellation)
      : thread_([this, cancellation] {
          for (; !over_; std::this_thread::sleep_for(kLook)) {
            if (InterruptSignal() != 0) {
              cancellation->Cancel(absl::CancelledError("interrupted"));
            }
          }
        }) {}
  ~Interrupter() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

absl::Status Join(Flags* flags, JoinReport* report) {
  absl::Status status = Complete(flags);
  if (!status.ok()) return status;
  report->operation = flags->run.remote.asking.operation;
  OutputOptions options = OutputOf(*flags);
  if (report->operation == join::Operation::kCount) {
    options = OutputOptions();  // nothing will be written
  } else if (options.format == RowFormat::kSst && EmitsLocalRows(report->operation)) {
    return absl::InvalidArgumentError(
        "--format=sst is for rows to be ingested here: "
        "it goes with --op=intersection and difference");
  }
  const absl::StatusOr<std::unique_ptr<ResultOutput>> output = ResultOutput::Open(options);
  if (!output.ok()) return output.status();
  join::Cancellation cancellation(join::Cancellation::Clock::now() +
                                  std::chrono::seconds(flags->seconds));
  {
    JoinProgress progress(flags->progress);
    flags->run.expect = [&progress](uint64_t keys) { progress.Expect(keys); };
    flags->run.remote.note = [&progress](const std::string& note) { progress.Note(note); };
    flags->run.remote.asking.range_done = [&progress](const join::RangeReport& range) {
      progress.RangeDone(range);
    };
    const Interrupter interrupter(&cancellation);
    status = RunJoin(flags->run, output->get(), &cancellation, &report->result);
  }
  report->rows = (*output)->rows();
  return status.ok() ? (*output)->Finish() : status;
}

absl::Status PrintPlan(Flags* flags) {
  absl::Status status = Complete(flags);
  if (!status.ok()) return status;
  join::Cancellation cancellation(join::Cancellation::Clock::now() +
                                  std::chrono::seconds(flags->seconds));
  std::vector<ShardPlan> plans;
  {
    const Interrupter interrupter(&cancellation);
    status = PlanJoin(flags->run, &cancellation, &plans);
  }
  if (status.ok()) std::cout << (flags->json ? JsonReport(plans) : TextReport(plans));
  return status;
}

int Run(Flags flags) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // errors are ours to tell; the user's own setting counts
  const bool plan = flags.explain == "plan";
  JoinReport report;
  absl::Status status;
  {
    InterruptGuard guard;
    status = plan ? PrintPlan(&flags) : Join(&flags, &report);
  }
  EndByInterruptSignal();
  if (!status.ok()) {
    std::cerr << "rocksieve join: " << status.message() << "\n";
    return absl::IsDataLoss(status) ? kCheckFailed : kCannotRun;
  }
  if (plan) return kDone;
  if (flags.format == "sst" && report.operation != join::Operation::kCount && report.rows == 0) {
    std::cerr << "rocksieve join: no rows, and RocksDB has no SST files without rows: there is no "
              << flags.output << " now, not even one of an earlier join\n";
  }
  const bool rows_there = report.operation != join::Operation::kCount && flags.output == "-";
  if (flags.json) {
    std::cout << JsonReport(report, flags.explain == "analyze");
  } else if (!rows_there) {
    std::cout << TextReport(report, flags.explain == "analyze");
  } else if (flags.explain == "analyze") {
    std::cerr << TextReport(report, true);
  }
  return kDone;
}

void AddFlags(CLI::App* parser, Flags* flags) {
  JoinRunOptions* run = &flags->run;
  const auto text = [&](const char* name, std::string* value, const char* type,
                        const std::string& description) {
    return parser->add_option(name, *value, description)->type_name(type)->check(NotEmpty());
  };
  text("--db", &run->directory, "DIR", "this side's database")->required();
  text("--remote", &flags->remotes, "ADDRS", "servers, shards of the other side: host:port,...")
      ->required();
  text("--op", &flags->operation, "intersection|difference|local-only|symmetric|count",
       "rows matched there; only there; only here; both; counts")
      ->required()
      ->check(CLI::IsMember({"intersection", "difference", "local-only", "symmetric", "count"}));
  text("--output", &flags->output, "FILE", "where rows go. Default: -, the standard output");
  text("--format", &flags->format, "tsv|json|sst",
       "lines, objects, or a file to ingest. Default: tsv")
      ->check(CLI::IsMember({"tsv", "json", "sst"}));
  text("--column-family", &run->column_family, "NAME", "this side's. Default: default")
      ->group(kRareFlags);
  text("--remote-column-family", &run->remote.request.column_family, "NAME",
       "the other side's. Default: what the server serves first")
      ->group(kRareFlags);
  text("--left-on", &run->left_on, "ATTR",
       "matches rows here by it: value.json(/id). Default: key");
  text("--right-on", &run->remote.request.on, "ATTR", "the same there");
  text("--strategy", &run->remote.strategy, "NAME",
       join::StrategyNames() + ". Default: auto, the cheapest mix")
      ->group(kRareFlags);
  parser
      ->add_flag("--explain{plan}", flags->explain,
                 "only price strategies; --explain=analyze: join, say more")
      ->type_name("plan|analyze")
      ->check(CLI::IsMember({"plan", "analyze"}));
  AddSecurityFlags(parser, &flags->security);
  text("--server-name", &flags->security.security.server_name, "NAME",
       "that the server's certificate must have. Default: that of the address")
      ->group(kRareFlags);
  const auto number = [&](const char* name, int* value, int most, const char* description) {
    parser->add_option(name, *value, description)
        ->type_name("N")
        ->check(CLI::Range(1, most))
        ->group(kRareFlags);
  };
  parser
      ->add_option("--range-keys", run->remote.asking.keys_per_range,
                   "keys of a range, the unit of memory and of going on after a break. "
                   "Default: 1048576")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 21))
      ->group(kRareFlags);
  number("--round-trips", &run->remote.asking.planner.most_round_trips, 32,
         "that a range may take, wrong estimates apart: fewer cost bytes. Default: 4");
  parser
      ->add_option("--most-bytes", run->remote.asking.most_bytes,
                   "bytes of messages with each server, rows apart; a join that would take more is "
                   "refused. Default: 0, no limit")
      ->type_name("N")
      ->group(kRareFlags);
  number("--timeout", &flags->seconds, 1 << 30, "seconds for all of it. Default: 86400");
  number("--silence", &flags->silence_seconds, 1 << 20,
         "seconds until a silent server is given up. Default: 120");
  number("--attempts", &run->remote.most_attempts, 1000,
         "until a broken connection is given up. Default: 4");
  number("--memory", &flags->memory_mib, 1 << 20,
         "MiB for each server's part of the join, of what it makes this side keep. Default: 1024");
  number("--largest-row", &flags->largest_row_mib, 1 << 20,
         "MiB, key and value; larger ones of the servers are refused. Default: 256");
  parser->add_flag("--progress", flags->progress, "say how far it is, though stderr is no terminal")
      ->group(kRareFlags);
  parser->add_flag("--json", flags->json, "print one JSON document, with units in the names");
}

}  // namespace

Command AddJoinCommand(CLI::App* parent) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* parser = AddParser(
      parent, {.name = "join",
               .summary = "what a database and those of servers have in common, or not",
               .description =
                   "Exact, in few bytes. FILE appears when complete; only proven rows are given.",
               .exit_codes = "0 done; 1 contradictions or damage found; 2 could not run",
               .example = "Example, the rows that a replica lacks:\n"
                          "  rocksieve join --db=mine --remote=a:7420 --op=difference "
                          "--certs=certs"});
  AddFlags(parser, flags.get());
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
