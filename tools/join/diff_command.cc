// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksdb/status.h>
#include <rocksieve/join/diff.h>

#include "plugin/database/database.h"
#include "support/progress.h"
#include "support/return_if_error.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/join/database_diff.h"
#include "tools/join/diff_files.h"
#include "tools/join/difference_log.h"
#include "tools/join/joining.h"
#include "tools/join/replica_versions.h"
#include "tools/join/resume_state.h"

namespace rocksieve::tools {
namespace {

using join::DiffFormat;
using rocksdb::Status;

struct DiffFlags {
  std::vector<std::string> directories;
  std::vector<std::string> remotes;
  join::Peer peer;  // without an address
  std::vector<join::Peer> peers;
  SecurityFlags security;
  DatabaseDiffOptions options;
  bool summary = false;
  std::string format = "text";
  std::string output_path = "-";
  double recheck_seconds = 0;
  double full_every_days = 30;
  std::string apply;  // "here" or nothing
  bool dry_run = false;
  std::string undo_log;  // of apply
  std::string undo;      // such a log, instead of a comparison
  std::string resume;    // the file of the state
  bool progress = false;
  bool json = false;

  bool applies() const { return !apply.empty() && !dry_run; }
};

const std::map<std::string, DiffFormat> kFormats = {
    {"text", DiffFormat::kText}, {"tsv", DiffFormat::kTsv}, {"jsonl", DiffFormat::kJson}};

// What is compared anew, at most, by a process that goes on. Some hundred bytes more on the wire
// for each range.
constexpr uint64_t kResumableRangeKeys = 1 << 17;

// Beside the database: "/data/db.20261123T120000Z.jsonl"; another number if that is there.
std::string NewLogOf(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path whole = fs::canonical(directory, error);
  if (error) whole = directory;
  const std::string text = UtcNow(".%Y%m%dT%H%M%SZ");
  std::string log = whole.string() + text + ".jsonl";
  for (int i = 2; fs::exists(log, error); i++) {
    log = whole.string() + text + "." + std::to_string(i) + ".jsonl";
  }
  return log;
}

Status CheckUndoLog(const std::string& log) {
  std::error_code error;
  const bool is_there = exists(std::filesystem::symlink_status(log, error));
  if (log != "-" && !is_there) return Status::OK();
  return Status::InvalidArgument(log == "-"
                                     ? "--undo-log: name a file, which can be read again"
                                     : "--undo-log: " + log +
                                           " is there already, and may be needed to take something "
                                           "back: name another file");
}

Status CompleteDiff(DiffFlags* flags) {
  DatabaseDiffOptions* const options = &flags->options;
  RETURN_IF_ERROR(CheckRules(
      {{flags->directories.size() + (flags->remotes.empty() ? 0 : 1) != 2,
        "two databases are compared: --db=HERE --remote=HOST:PORT, or --db=HERE --db=THERE"}}));
  options->directory = flags->directories[0];
  if (flags->remotes.empty()) options->other_directory = flags->directories[1];
  RETURN_IF_ERROR(CompletePeer(flags->security, &flags->peer));
  for (const std::string& remote : flags->remotes) {
    join::Peer peer = flags->peer;
    RETURN_IF_ERROR(join::SplitAddresses(remote, &peer.addresses));
    if (peer.addresses.size() != 1) {
      return Status::InvalidArgument(
          "--remote: each server has all of a database here; name several by --remote=A "
          "--remote=B");
    }
    flags->peers.push_back(std::move(peer));
  }
  if (flags->peers.size() == 1) options->peer = flags->peers[0];
  std::set<std::string> named;
  std::erase_if(options->column_families,
                [&](const std::string& name) { return !named.insert(name).second; });
  join::DiffOptions* const diff = &options->diff;
  const bool several = flags->peers.size() > 1, resumes = !flags->resume.empty();
  const bool to_file = flags->output_path != "-", keeps = !diff->state_directory.empty();
  RETURN_IF_ERROR(CheckRules(
      {{several && !flags->apply.empty(),
        "--apply makes the database here like one other: name the one --remote"},
       {resumes && (several || !flags->apply.empty()),
        "--resume is for comparisons of two databases that write nothing: leave it out, or --apply "
        "and all --remote but one"},
       {flags->json && !flags->summary && !to_file && !flags->applies(),
        "--json prints the report where the rows would go: add --summary, or --output=FILE"},
       {flags->applies() && (flags->summary || to_file || flags->format != "text"),
        "--apply writes the rows that differ to --undo-log=FILE: leave out --summary, --output and "
        "--format, or add --dry-run"},
       {flags->summary && to_file, "--output=FILE is for rows: leave it out, or --summary"},
       {keeps && flags->remotes.empty(),
        "--state=DIR is for comparisons with a server: add --remote"},
       {keeps && resumes,
        "--resume goes on with a comparison of all rows, --state makes one of what has changed: "
        "leave one out"}}));
  if (resumes) diff->join.keys_per_range = kResumableRangeKeys;
  if (flags->applies()) {
    flags->format = "jsonl";
    flags->output_path = flags->undo_log.empty() ? NewLogOf(options->directory) : flags->undo_log;
    RETURN_IF_ERROR(CheckUndoLog(flags->output_path));
  }
  // Lines of text have no values.
  diff->values = !flags->summary && flags->format != "text";
  diff->full_every = std::chrono::hours(static_cast<int64_t>(24 * flags->full_every_days));
  diff->recheck = std::chrono::milliseconds(static_cast<int64_t>(1000 * flags->recheck_seconds));
  return Status::OK();
}

void AddDiffFlags(Parser* parser, DiffFlags* flags) {
  AddText(parser, "--db", &flags->directories, "DIR",
          "a database here; twice, for two that are here")
      ->required();
  AddText(parser, "--remote", &flags->remotes, "ADDR",
          "the other one's server, host:port; may be repeated");
  AddText(parser, "--column-family", &flags->options.column_families, "NAME",
          "compare only these; may be repeated. Default: all");
  parser->add_flag("--summary", flags->summary, "no rows, only how many differ");
  AddText(parser, "--output", &flags->output_path, "FILE",
          "where rows go. Default: -, the standard output");
  AddText(parser, "--format", &flags->format, "text|tsv|jsonl",
          "keys; with values; objects. Default: text")
      ->check(CLI::IsMember(kFormats));
  parser
      ->add_option("--recheck", flags->recheck_seconds,
                   "look again so long at rows that differ. Default: 0")
      ->type_name("SECONDS")
      ->check(Between(0, 86400));
  Option* const apply =
      AddText(parser, "--apply", &flags->apply, "here", "make the database here like the other one")
          ->check(CLI::IsMember({"here"}));
  parser->add_flag("--dry-run", flags->dry_run, "with --apply: only print the rows")
      ->needs(apply)
      ->group(kRareFlags);
  AddText(parser, "--undo-log", &flags->undo_log, "FILE",
          "of --apply: the rows as they were and are. Default: DIR.TIME.jsonl")
      ->needs(apply)
      ->group(kRareFlags);
  AddText(parser, "--undo", &flags->undo, "FILE",
          "instead of comparing: make the rows of such a log what they were")
      ->excludes(apply)
      ->group(kRareFlags);
  AddText(parser, "--resume", &flags->resume, "FILE",
          "keep there how far it is; go on from there if it was killed. Removed at the end")
      ->group(kRareFlags);
  AddClientFlags(parser, &flags->security, &flags->peer);
  join::JoinOptions* const join = &flags->options.diff.join;
  AddRareNumber(parser, "--memory", &join->memory_bytes, 1 << 20,
                "MiB, of what the server makes this side keep. Default: 1024", kMebibyte);
  AddRareNumber(
      parser, "--threads", &join->threads, join::JoinOptions::kMostThreads,
      "that compute, beside one that reads; 2 and more take memory for 4 and 6 ranges instead of "
      "2. Default: 1");
  AddRareNumber(parser, "--timeout", &join->timeout, 1 << 30,
                "seconds for each column family. Default: 86400", kSecond);
  parser
      ->add_flag("--read-shared-files", flags->options.diff.read_shared_files,
                 "also table files that both directories have, as hard links")
      ->group(kRareFlags);
  AddText(parser, "--state", &flags->options.diff.state_directory, "DIR",
          "compare what has changed since the last run with DIR");
  parser
      ->add_option("--full-every", flags->full_every_days,
                   "with --state: days after which all is compared again. Default: 30")
      ->type_name("DAYS")
      ->check(Between(0, 3650))
      ->group(kRareFlags);
  AddLimitFlag(parser, &flags->options.bytes_per_second);
  AddLinkFlag(parser, &join->link_bytes_per_second);
  parser->add_flag("--progress", flags->progress, "say how far it is, though stderr is no terminal")
      ->group(kRareFlags);
  AddJsonFlag(parser, &flags->json);
}

// What a comparison writes.
struct DiffFiles {
  RowOutput output;
  std::unique_ptr<ResumeState> state;  // of --resume
};

// The file that it is, whatever directory it is named from.
std::string WholePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  return error ? path : whole.string();
}

// Two comparisons are the same if these are.
Json ComparisonOf(const DiffFlags& flags) {
  const DatabaseDiffOptions& options = flags.options;
  std::string families;
  for (const std::string& name : options.column_families) {
    families += std::to_string(name.size()) + ":" + name + ",";
  }
  return {{"the database here", WholePath(options.directory)},
          {"the other one",
           options.peer ? options.peer->addresses[0] : WholePath(options.other_directory)},
          {"--column-family", families.empty() ? "all" : families},
          {"--output", flags.summary              ? "none"
                       : flags.output_path == "-" ? "the standard output"
                                                  : WholePath(flags.output_path)},
          {"--format", flags.summary ? "none" : flags.format},
          {"--recheck", flags.recheck_seconds > 0 ? "wanted" : "not wanted"}};
}

// Where the rows go, and from where the comparison goes on.
Status OpenFiles(const DiffFlags& flags, DiffFiles* files) {
  if (flags.resume.empty()) {
    return flags.summary ? Status::OK() : files->output.Open(flags.output_path);
  }
  std::unique_ptr<ResumeState> state;
  RETURN_IF_ERROR(
      ResumeState::Open(WholePath(flags.resume), ComparisonOf(flags), &files->output, &state));
  RETURN_IF_ERROR(state->OpenRows(flags.summary ? "" : flags.output_path));
  files->state = std::move(state);
  const std::string going_on = files->state->GoingOn();
  if (!going_on.empty()) std::cerr << "rocksieve diff: " << going_on << "\n";
  return Status::OK();
}

Status CompareAndWrite(DiffFlags* flags, DiffFiles* files, Json* document) {
  Status status = OpenFiles(*flags, files);
  if (!status.ok()) return status;
  RowOutput& output = files->output;
  ResumeState* const state = flags->options.state = files->state.get();
  const JoinWatch watch(
      {.command = "rocksieve diff",
       .doing = "comparing",
       .at_the_end = flags->recheck_seconds > 0 ? "looking again at rows that differ" : "",
       .always = flags->progress},
      &flags->options.diff.join);
  const DiffFormat format = kFormats.at(flags->format);
  std::string own_heading;
  // Lines of text say their column family once.
  std::string* const headed = state != nullptr ? state->heading() : &own_heading;
  const auto head = [&](const std::string& family) {
    const bool heads = format == DiffFormat::kText && family != *headed &&
                       (family != "default" || !headed->empty());
    *headed = family;
    return heads ? "# " + PrintableKey(family) + "\n" : "";
  };
  if (flags->peers.size() > 1) {
    TakeVersions take;
    if (!flags->summary) {
      take = [&](const RowVersions& row) {
        return output.Write(head(row.column_family) + FormatVersions(row, format));
      };
    }
    status = CompareReplicas(flags->options, flags->peers, take, document);
  } else {
    TakeDifference take;
    if (!flags->summary) {
      take = [&](const std::string& family, const join::DifferentRow& row) {
        // What is being written is no business of a repair.
        if (!flags->apply.empty() && row.verdict == join::Verdict::kTransient) return Status::OK();
        return output.Write(head(family) + join::FormatDifference(row, format, family));
      };
    }
    status = DiffDatabases(flags->options, take, document);
  }
  if (status.ok() && flags->applies() && (*document)["errors"] != 0) {
    status = Status::InvalidArgument("nothing was written, since not all could be read:\n" +
                                     DiffInWords(*document));
  }
  if (state != nullptr) {
    const Status kept = status.ok() ? state->FinishAll() : state->Save();
    if (status.ok()) status = kept;
  }
  return status.ok() && !flags->summary ? output.Finish(/*replaces=*/!flags->applies()) : status;
}

Status ApplyLog(const std::string& directory, const std::string& log, ApplyDirection direction,
                Json* document) {
  Progress progress("rocksieve diff");
  AppliedRows applied;
  const Status status = ApplyDifferenceLog(directory, log, direction, &progress, &applied);
  (*document)["applied"] = {{"undo_log", log},
                            {"put_rows", applied.put},
                            {"deleted_rows", applied.deleted},
                            {"done_before_rows", applied.done_before},
                            {"left_alone_rows", applied.left_alone}};
  if (status.ok() || direction == ApplyDirection::kBackward) return status;
  return Status::InvalidArgument(MessageOf(status) + "\n" + Thousands(applied.put) + " rows put, " +
                                 Thousands(applied.deleted) + " deleted. " + log +
                                 " has all of them: rocksieve diff --db=" + directory +
                                 " --undo=" + log + " takes them back.");
}

Status DiffAndApply(DiffFlags* flags, DiffFiles* files, Json* document) {
  RETURN_IF_ERROR(CheckAddressSpace());
  if (!flags->undo.empty()) {
    if (flags->directories.size() != 1 || !flags->remotes.empty()) {
      return Status::InvalidArgument("--undo=FILE is about one database: --db=HERE alone");
    }
    *document = {{"local", flags->directories[0]}};
    return ApplyLog(flags->directories[0], flags->undo, ApplyDirection::kBackward, document);
  }
  RETURN_IF_ERROR(CompleteDiff(flags));
  RETURN_IF_ERROR(CompareAndWrite(flags, files, document));
  if (!flags->applies()) return Status::OK();
  return ApplyLog(flags->options.directory, flags->output_path, ApplyDirection::kForward, document);
}

int RunDiff(DiffFlags flags) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // errors are ours to tell; the user's own setting counts
  Json document;
  DiffFiles files;
  Status status;
  {
    InterruptGuard guard;
    status = DiffAndApply(&flags, &files, &document);
  }
  // What was written is said in any case.
  if (!status.ok() && document.contains("applied")) {
    std::cerr << "rocksieve diff: " << MessageOf(status) << "\n";
  }
  EndByInterruptSignal();
  if (!status.ok()) {
    if (!document.contains("applied")) {
      std::cerr << "rocksieve diff: " << MessageOf(status) << "\n";
      if (files.state != nullptr) {
        std::cerr << "The same command goes on where it was proven: " << flags.resume << "\n";
      }
    }
    return kCannotRun;
  }
  const bool rows_there = !flags.summary && flags.output_path == "-" && flags.undo.empty();
  if (flags.json) {
    std::cout << Document(document);
  } else {
    const size_t columns = TerminalColumns(rows_there ? STDERR_FILENO : STDOUT_FILENO);
    (rows_there ? std::cerr : std::cout) << WithinColumns(
        flags.peers.size() > 1 ? VersionsInWords(document) : DiffInWords(document), columns);
  }
  if (files.state != nullptr) {  // once all is said
    std::cout.flush();
    status = files.state->Remove();
    if (!status.ok()) std::cerr << "rocksieve diff: " << MessageOf(status) << "\n";
  }
  return flags.peers.size() > 1 ? VersionsExitCode(document) : DiffExitCode(document);
}

}  // namespace

Command AddDiffCommand(Parser* parent) {
  const auto flags = std::make_shared<DiffFlags>();
  Parser* parser = AddParser(
      parent,
      {.name = "diff",
       .summary = "whether two databases are equal, and what differs",
       .description =
           "Exact, in all column families, beside the processes that own the databases. Lines are "
           "< KEY (only here), > KEY (only there), | KEY (changed); then a verdict for each column "
           "family.",
       .exit_codes = "0 equal, or being written (--recheck); 1 different; 2 could not run",
       .example = "Example, a replica that may lag by ten seconds:\n"
                  "  rocksieve diff --db=mine --remote=a:7420 --certs=certs --recheck=20"});
  AddDiffFlags(parser, flags.get());
  return {parser, [flags] { return RunDiff(*flags); }};
}

}  // namespace rocksieve::tools
