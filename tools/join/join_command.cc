// SPDX-License-Identifier: Apache-2.0
#include "support/return_if_error.h"
#include "tools/command/command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksieve/join/join.h>

#include "plugin/database/snapshot_files.h"
#include "support/progress.h"
#include "support/text.h"
#include "tools/join/joining.h"
#include "tools/join/report.h"

namespace rocksieve::tools {
namespace {

using join::Operation;
using rocksdb::Status;

constexpr size_t kSortMemoryBytes = size_t{256} << 20;  // at most, and half of --memory

struct Flags {
  std::string directory;
  std::string column_family;
  std::string left_on;
  std::string remotes;
  join::Peer peer;
  std::string operation;
  std::string output = "-";
  std::string format = "tsv";
  SecurityFlags security;
  join::JoinOptions options;
  std::string explain;  // "plan", "analyze" or nothing
  uint64_t bytes_per_second = 0;
  bool progress = false;
  bool json = false;
  bool exit_code = false;
};

bool GivesRows(const Flags& flags) { return flags.operation != "count"; }

// What the flags say in other words, and whether they fit.
Status Complete(Flags* flags) {
  RETURN_IF_ERROR(join::SplitAddresses(flags->remotes, &flags->peer.addresses));
  RETURN_IF_ERROR(CompletePeer(flags->security, &flags->peer));
  flags->options.report_ranges = flags->explain == "analyze";
  const bool plans_only = flags->explain == "plan", to_file = flags->output != "-";
  const bool gives = GivesRows(*flags) && !plans_only, sst = flags->format == "sst" && gives;
  return CheckRules(
      {{to_file && !gives,
        "--output=FILE is for rows, and there will be none: leave it out, or choose another --op, "
        "or --explain=analyze"},
       {flags->exit_code && (GivesRows(*flags) || plans_only),
        "--exit-code says whether the two sides differ, for which they are counted: it goes with "
        "--op=count, and without --explain=plan"},
       {flags->json && gives && !to_file,
        "--json prints the report where the rows would go: add --output=FILE"},
       {sst && flags->operation != "intersection" && flags->operation != "difference",
        "--format=sst is for rows to be ingested here: it goes with --op=intersection and "
        "difference"},
       {sst && !to_file, "an SST file cannot go to the standard output: add --output=FILE"}});
}

size_t SortMemoryBytes(const Flags& flags) {
  return std::min<size_t>(kSortMemoryBytes, flags.options.memory_bytes / 2);
}

// Those of the column family that SST files are for, so that its filters and compression are
// theirs; RocksDB's defaults where the database has no OPTIONS file.
Status OptionsOfFiles(const Flags& flags, rocksdb::Options* options) {
  rocksdb::DBOptions database;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::ConfigOptions tolerant;
  tolerant.ignore_unknown_options = true;
  tolerant.env = ReadOnlyEnv();
  const Status status = rocksdb::LoadLatestOptions(tolerant, flags.directory, &database, &families);
  if (status.IsNotFound() || status.IsPathNotFound()) return Status::OK();
  if (!status.ok()) {
    return Status::InvalidArgument("cannot read the options of " + flags.directory +
                                   ", which its SST files have: " + status.ToString());
  }
  const std::string wanted = flags.column_family.empty() ? "default" : flags.column_family;
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    if (family.name == wanted) *options = rocksdb::Options(rocksdb::DBOptions(), family.options);
  }
  if (options->comparator != rocksdb::BytewiseComparator()) {
    return Status::InvalidArgument("--format=sst: files of a join are in bytewise order, " +
                                   flags.directory + " is ordered by " +
                                   options->comparator->Name() + "; take another --format");
  }
  return status;
}

join::ResultFile OutputOf(const Flags& flags) {
  join::ResultFile file;
  file.path = flags.output;
  file.format = flags.format == "sst"    ? join::RowFormat::kSst
                : flags.format == "json" ? join::RowFormat::kJson
                                         : join::RowFormat::kTsv;
  file.sort_memory_bytes = SortMemoryBytes(flags);
  return file;
}

Status Join(const join::Input& input, const Flags& flags, JoinOutcome* outcome) {
  const Operation operation = kOperations.at(flags.operation);
  if (operation == Operation::kCount) {
    return join::Join(operation, input, flags.peer, flags.options, nullptr, &outcome->report);
  }
  join::ResultFile file = OutputOf(flags);
  if (flags.format == "sst") {
    RETURN_IF_ERROR(OptionsOfFiles(flags, &file.rocksdb_options));
  }
  return join::JoinToFile(operation, input, flags.peer, flags.options, file, &outcome->rows,
                          &outcome->report);
}

Status JoinOrPlan(Flags* flags, JoinOutcome* outcome, std::vector<join::JoinPlan>* plans) {
  RETURN_IF_ERROR(CheckAddressSpace());
  RETURN_IF_ERROR(Complete(flags));
  join::InputOptions rows;
  rows.on = flags->left_on;
  rows.sort_memory_bytes = SortMemoryBytes(*flags);
  rows.rate_limiter = RateLimiterOf(flags->bytes_per_second);
  join::Input input;
  RETURN_IF_ERROR(join::Input::OfDirectory(flags->directory, flags->column_family, rows, &input));
  const bool plans_only = flags->explain == "plan";
  const JoinWatch watch({.command = "rocksieve join",
                         .doing = plans_only ? "" : "joining",
                         .always = flags->progress},
                        &flags->options);
  return plans_only ? join::PlanJoin(input, flags->peer, flags->options, plans)
                    : Join(input, *flags, outcome);
}

void Print(const Flags& flags, const JoinOutcome& outcome) {
  if (flags.format == "sst" && GivesRows(flags) && outcome.rows == 0) {
    std::cerr << "rocksieve join: no rows, and RocksDB has no SST files without rows: there is no "
              << flags.output << " now, not even one of an earlier join\n";
  }
  const bool analyze = flags.explain == "analyze";
  const bool rows_there = GivesRows(flags) && flags.output == "-";
  const Json document = JoinDocument(outcome, analyze);
  if (flags.json) {
    std::cout << Document(document);
  } else if (!rows_there || analyze) {
    const size_t columns = TerminalColumns(rows_there ? STDERR_FILENO : STDOUT_FILENO);
    (rows_there ? std::cerr : std::cout) << WithinColumns(JoinInWords(document, analyze), columns);
  }
}

int Run(Flags flags) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // errors are ours to tell; the user's own setting counts
  JoinOutcome outcome;
  outcome.operation = flags.operation;
  std::vector<join::JoinPlan> plans;
  Status status;
  {
    InterruptGuard guard;
    status = JoinOrPlan(&flags, &outcome, &plans);
  }
  EndByInterruptSignal();
  if (!status.ok()) {
    std::cerr << "rocksieve join: " << status.getState() << "\n";
    return status.IsCorruption() && !flags.exit_code ? kCheckFailed : kCannotRun;
  }
  if (flags.explain == "plan") {
    const Json document = PlanDocument(plans);
    std::cout << (flags.json
                      ? Document(document)
                      : WithinColumns(PlanInWords(document), TerminalColumns(STDOUT_FILENO)));
  } else {
    Print(flags, outcome);
  }
  const bool differ = outcome.report.local_only_keys + outcome.report.remote_only_keys > 0;
  return flags.exit_code && differ ? kCheckFailed : kDone;
}

void AddFlags(Parser* parser, Flags* flags) {
  join::JoinOptions* const options = &flags->options;
  AddText(parser, "--db", &flags->directory, "DIR", "this side's database")->required();
  AddText(parser, "--remote", &flags->remotes, "ADDRS",
          "servers, shards of the other side: host:port,...")
      ->required();
  AddText(parser, "--op", &flags->operation, "intersection|difference|local-only|symmetric|count",
          "matched there; only there; only here; these two; counts")
      ->required()
      ->check(CLI::IsMember(kOperations));
  AddText(parser, "--output", &flags->output, "FILE",
          "where rows go. Default: -, the standard output");
  AddText(parser, "--format", &flags->format, "tsv|json|sst",
          "lines, objects, or a file to ingest. Default: tsv")
      ->check(CLI::IsMember({"tsv", "json", "sst"}));
  AddText(parser, "--column-family", &flags->column_family, "NAME", "this side's. Default: default")
      ->group(kRareFlags);
  AddText(parser, "--remote-column-family", &flags->peer.column_family, "NAME",
          "the other side's. Default: what the server serves first")
      ->group(kRareFlags);
  AddText(parser, "--left-on", &flags->left_on, "EXPR",
          "matches rows here by it: value.json(/id). Default: key");
  AddText(parser, "--right-on", &flags->peer.on, "EXPR", "the same there");
  AddText(parser, "--strategy", &options->strategy, "NAME",
          join::JoinStrategies() + ". Default: auto, the cheapest mix")
      ->group(kRareFlags);
  parser
      ->add_flag("--explain{plan}", flags->explain,
                 "only price strategies; --explain=analyze: join, say more")
      ->type_name("plan|analyze")
      ->check(CLI::IsMember({"plan", "analyze"}))
      ->group(kRareFlags);
  AddLinkFlag(parser, &options->link_bytes_per_second);
  AddClientFlags(parser, &flags->security, &flags->peer);
  AddRareNumber(
      parser, "--range-keys", &options->keys_per_range, 1 << 21,
      "keys of a range, the unit of memory and of going on after a break. Default: 1048576");
  AddRareNumber(
      parser, "--threads", &options->threads, join::JoinOptions::kMostThreads,
      "that compute, beside one that reads; 2 and more take memory for 4 and 6 ranges instead of "
      "2. Default: 1");
  AddRareNumber(parser, "--round-trips", &options->most_round_trips, 32,
                "that a range may take, wrong estimates apart: fewer cost bytes. Default: 4");
  parser
      ->add_option("--most-bytes", options->most_bytes,
                   "bytes of messages with each server, rows apart; a join that would take more is "
                   "refused. Default: 0, no limit")
      ->type_name("N")
      ->group(kRareFlags);
  AddRareNumber(parser, "--timeout", &options->timeout, 1 << 30,
                "seconds for all of it. Default: 86400", kSecond);
  AddRareNumber(parser, "--silence", &options->silence, 1 << 20,
                "seconds until a silent server is given up. Default: 120", kSecond);
  AddRareNumber(parser, "--attempts", &options->attempts, 1000,
                "until a broken connection is given up. Default: 4");
  AddRareNumber(
      parser, "--memory", &options->memory_bytes, 1 << 20,
      "MiB for each server's part of the join, of what it makes this side keep. Default: 1024",
      kMebibyte);
  AddRareNumber(parser, "--largest-row", &options->most_row_bytes, 1 << 20,
                "MiB, key and value; larger ones of the servers are refused. Default: 256",
                kMebibyte);
  AddLimitFlag(parser, &flags->bytes_per_second);
  parser->add_flag("--progress", flags->progress, "say how far it is, though stderr is no terminal")
      ->group(kRareFlags);
  parser
      ->add_flag("--exit-code", flags->exit_code,
                 "with --op=count: 0 if both sides have the same keys, 1 if not, 2 on any error")
      ->group(kRareFlags);
  AddJsonFlag(parser, &flags->json);
}

}  // namespace

Command AddJoinCommand(Parser* parent) {
  const auto flags = std::make_shared<Flags>();
  Parser* parser = AddParser(
      parent, {.name = "join",
               .summary = "what a database and those of servers have in common, or not",
               .description =
                   "Exact, in few bytes. FILE appears when complete; only proven rows are given.",
               .exit_codes = "0 done; 1 damage, or a difference (--exit-code); 2 could not run",
               .example = "Example, the rows that a replica lacks:\n"
                          "  rocksieve join --db=mine --remote=a:7420 --op=difference "
                          "--certs=certs"});
  AddFlags(parser, flags.get());
  return {parser, [flags] { return Run(*flags); }};
}

}  // namespace rocksieve::tools
