// SPDX-License-Identifier: Apache-2.0
#include "tools/join/diff_flags.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "support/text.h"
#include "tools/join/limit_flag.h"

namespace rocksieve::tools {
namespace {

using join::DiffFormat;
using rocksdb::Status;

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
  if (log != "-" && !std::filesystem::exists(log, error)) return Status::OK();
  return Status::InvalidArgument(log == "-"
                                     ? "--undo-log: name a file, which can be read again"
                                     : "--undo-log: " + log +
                                           " is there already, and may be needed to take something "
                                           "back: name another file");
}

}  // namespace

Status CompleteDiff(DiffFlags* flags) {
  DatabaseDiffOptions* const options = &flags->options;
  if (flags->directories.size() + (flags->remotes.empty() ? 0 : 1) != 2) {
    return Status::InvalidArgument(
        "two databases are compared: --db=HERE --remote=HOST:PORT, or --db=HERE --db=THERE");
  }
  options->directory = flags->directories[0];
  if (flags->remotes.empty()) options->other_directory = flags->directories[1];
  std::vector<std::string> tokens;
  Status status = ReadTokensOf(flags->security, &tokens);
  if (!status.ok()) return status;
  if (!tokens.empty()) flags->peer.token = tokens.front();
  flags->peer.credentials = CredentialsOf(flags->security, "client");
  for (const std::string& remote : flags->remotes) {
    join::Peer peer = flags->peer;
    status = join::SplitAddresses(remote, &peer.addresses);
    if (!status.ok()) return status;
    if (peer.addresses.size() != 1) {
      return Status::InvalidArgument(
          "--remote: each server has all of a database here; name several by --remote=A "
          "--remote=B");
    }
    flags->peers.push_back(std::move(peer));
  }
  if (flags->peers.size() == 1) options->peer = flags->peers[0];
  if (flags->peers.size() > 1 && !flags->apply.empty()) {
    return Status::InvalidArgument(
        "--apply makes the database here like one other: name the one --remote");
  }
  if (!flags->resume.empty() && (!flags->apply.empty() || flags->peers.size() > 1)) {
    return Status::InvalidArgument(
        "--resume is for comparisons of two databases that write nothing: leave it out, or --apply "
        "and all --remote but one");
  }
  std::vector<std::string>* const families = &options->column_families;
  std::set<std::string> named;
  families->erase(
      std::remove_if(families->begin(), families->end(),
                     [&](const std::string& name) { return !named.insert(name).second; }),
      families->end());
  if (flags->json && !flags->summary && flags->output_path == "-" && !flags->applies()) {
    return Status::InvalidArgument(
        "--json prints the report where the rows would go: add --summary, or --output=FILE");
  }
  if (flags->applies() &&
      (flags->summary || flags->output_path != "-" || flags->format != "text")) {
    return Status::InvalidArgument(
        "--apply writes the rows that differ to --undo-log=FILE: leave out --summary, --output and "
        "--format, or add --dry-run");
  }
  if (flags->summary && flags->output_path != "-") {
    return Status::InvalidArgument("--output=FILE is for rows: leave it out, or --summary");
  }
  join::DiffOptions* const diff = &options->diff;
  if (flags->remotes.empty() && !diff->state_directory.empty()) {
    return Status::InvalidArgument("--state=DIR is for comparisons with a server: add --remote");
  }
  if (!flags->resume.empty() && !diff->state_directory.empty()) {
    return Status::InvalidArgument(
        "--resume goes on with a comparison of all rows, --state makes one of what has changed: "
        "leave one out");
  }
  if (!flags->resume.empty()) diff->join.keys_per_range = kResumableRangeKeys;
  if (flags->applies()) {
    flags->format = "jsonl";
    flags->output_path = flags->undo_log.empty() ? NewLogOf(options->directory) : flags->undo_log;
    status = CheckUndoLog(flags->output_path);
    if (!status.ok()) return status;
  }
  // Lines of text have no values.
  diff->values = !flags->summary && flags->format != "text";
  diff->full_every = std::chrono::hours(static_cast<int64_t>(24 * flags->full_every_days));
  diff->recheck = std::chrono::milliseconds(static_cast<int64_t>(1000 * flags->recheck_seconds));
  diff->join.memory_bytes = uint64_t(flags->memory_mib) << 20;
  diff->join.timeout = std::chrono::seconds(flags->seconds);
  return Status::OK();
}

void AddDiffFlags(CLI::App* parser, DiffFlags* flags) {
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
                   "look again at rows that differ, so long. Default: 0")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0));
  CLI::Option* const apply =
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
  const auto number = [&](const char* name, int* value, int most, const char* description) {
    AddRareNumber(parser, name, value, most, description);
  };
  number("--memory", &flags->memory_mib, 1 << 20,
         "MiB, of what the server makes this side keep. Default: 1024");
  number(
      "--threads", &flags->options.diff.join.threads, join::JoinOptions::kMostThreads,
      "that compute, beside one that reads; 2 and more take memory for 4 and 6 ranges instead of "
      "2. Default: 1");
  number("--timeout", &flags->seconds, 1 << 30, "seconds for each column family. Default: 86400");
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
      ->check(CLI::Range(0.0, 3650.0))
      ->group(kRareFlags);
  AddLimitFlag(parser, &flags->options.bytes_per_second);
  AddLinkFlag(parser, &flags->options.diff.join.link_bytes_per_second);
  parser->add_flag("--progress", flags->progress, "say how far it is, though stderr is no terminal")
      ->group(kRareFlags);
  AddJsonFlag(parser, &flags->json);
}

DiffFormat FormatOf(const DiffFlags& flags) { return kFormats.at(flags.format); }

}  // namespace rocksieve::tools
