// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <rocksieve/join/diff.h>

#include "plugin/database/database.h"
#include "support/progress.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/join/database_diff.h"
#include "tools/join/diff_flags.h"
#include "tools/join/diff_words.h"
#include "tools/join/difference_log.h"
#include "tools/join/interrupt_canceller.h"
#include "tools/join/join_progress.h"
#include "tools/join/replica_versions.h"
#include "tools/join/resume_state.h"
#include "tools/join/row_output.h"

namespace rocksieve::tools {
namespace {

using join::DiffFormat;
using rocksdb::Status;

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
  Status status =
      ResumeState::Open(WholePath(flags.resume), ComparisonOf(flags), &files->output, &state);
  if (status.ok()) status = state->OpenRows(flags.summary ? "" : flags.output_path);
  if (!status.ok()) return status;
  files->state = std::move(state);
  const std::string going_on = files->state->GoingOn();
  if (!going_on.empty()) std::cerr << "rocksieve diff: " << going_on << "\n";
  return status;
}

Status CompareAndWrite(DiffFlags* flags, DiffFiles* files, Json* document) {
  Status status = OpenFiles(*flags, files);
  if (!status.ok()) return status;
  RowOutput& output = files->output;
  ResumeState* const state = flags->options.state = files->state.get();
  join::JoinOptions* const options = &flags->options.diff.join;
  const InterruptCanceller canceller(options);
  JoinProgress progress("rocksieve diff", "comparing",
                        flags->recheck_seconds > 0 ? "looking again at rows that differ" : "",
                        flags->progress);
  options->keys_expected = [&progress](uint64_t keys) { progress.Expect(keys); };
  options->range_done = [&progress](const auto& range) { progress.RangeDone(range); };
  options->note = [&progress](const std::string& note) { progress.Note(note); };
  const DiffFormat format = FormatOf(*flags);
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
  if (status.ok() && flags->applies() && (*document)["verdict"] == "unreadable") {
    status = Status::InvalidArgument("nothing was written, since not all could be read:\n" +
                                     DiffInWords(*document));
  }
  if (state != nullptr) {
    const Status kept = status.ok() ? state->FinishAll() : state->Save();
    if (status.ok()) status = kept;
  }
  return status.ok() && !flags->summary ? output.Finish() : status;
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
  Status status = CheckAddressSpace();
  if (!status.ok()) return status;
  if (!flags->undo.empty()) {
    if (flags->directories.size() != 1 || !flags->remotes.empty()) {
      return Status::InvalidArgument("--undo=FILE is about one database: --db=HERE alone");
    }
    *document = {{"local", flags->directories[0]}};
    return ApplyLog(flags->directories[0], flags->undo, ApplyDirection::kBackward, document);
  }
  status = CompleteDiff(flags);
  if (status.ok()) status = CompareAndWrite(flags, files, document);
  if (!status.ok() || !flags->applies()) return status;
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

Command AddDiffCommand(CLI::App* parent) {
  const auto flags = std::make_shared<DiffFlags>();
  CLI::App* parser = AddParser(
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
