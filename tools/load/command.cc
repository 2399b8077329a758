// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/write_batch.h>

#include "plugin/database/database.h"
#include "support/files.h"
#include "support/parallel.h"
#include "support/progress.h"
#include "support/return_if_error.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/command/key_lines.h"
#include "tools/load/target.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

struct LoadOptions {
  TargetOptions target;
  std::string input;  // a path, or "-"
  bool escaped = false;
  bool compact = false;
};

// What was read and written, with lines of equal keys.
struct Loaded {
  uint64_t lines = 0, input_bytes = 0;
};

constexpr size_t kBatchBytes = 64 << 10;

Status Interrupted() { return Status::Aborted("interrupted"); }

std::string AgainWith(const Target& target) {
  return "run it again with --add: lines that are there already do no harm; or remove " +
         target.db()->GetName();
}

Status CannotWrite(const Target& target, const Status& status) {
  if (target.family()->GetComparator()->timestamp_size() > 0) {
    return Status::InvalidArgument("keys of " + target.db()->GetName() +
                                   " have timestamps, which lines of text cannot give");
  }
  return Status::IOError("cannot write to " + target.db()->GetName() + ": " + status.ToString() +
                         "\nThe database is intact, and holds the first lines of the input. If the "
                         "disk is full, free some space; then " +
                         AgainWith(target));
}

Status Split(const LineReader& reader, std::string_view line, std::string_view* key,
             std::string_view* value) {
  const size_t tab = line.find('\t');
  *key = line.substr(0, tab);
  *value = tab == std::string_view::npos ? "" : line.substr(tab + 1);
  if (!key->empty()) return Status::OK();
  return Status::InvalidArgument(
      reader.name() + ", line " + std::to_string(reader.line_number()) +
      (line.empty() ? ": it is empty" : ": it begins with a TAB") +
      ", so there is no key. A line is a key, or a key, a TAB and a value.");
}

// Writes whole batches, so that what is left after an error ends with a line. The log is off, as
// the whole can be repeated; what a crash leaves is the beginning of the input.
Status WriteLines(LineReader* reader, const Target& target, bool escaped, Progress* progress,
                  Loaded* result) {
  rocksdb::WriteOptions without_log;
  without_log.disableWAL = true;
  rocksdb::WriteBatch batch;
  Status input, output;
  std::string key_bytes, value_bytes;
  bool done = false;
  while (input.ok() && output.ok() && !done) {
    std::string_view line, key, value;
    done = !reader->Next(&line);
    input = done ? LineStatus(*reader) : Split(*reader, line, &key, &value);
    if (input.ok() && !done && escaped) input = UndoEscapes(*reader, &key, &key_bytes);
    if (input.ok() && !done && escaped) input = UndoEscapes(*reader, &value, &value_bytes);
    if (input.ok() && !done) output = batch.Put(target.family(), key, value);
    if (!output.ok() || (input.ok() && !done && batch.GetDataSize() < kBatchBytes)) continue;
    output = WithoutException([&] { return target.db()->Write(without_log, &batch); });
    if (!output.ok()) break;
    result->lines += batch.Count();
    batch.Clear();
    const uint64_t bytes = reader->offset() - result->input_bytes;
    result->input_bytes = reader->offset();
    const Status interrupted = Advanced(progress, bytes);
    if (input.ok()) input = interrupted;
  }
  if (output.ok()) {
    output = WithoutException(
        [&] { return target.db()->Flush(rocksdb::FlushOptions(), target.family()); });
  }
  if (!output.ok()) return CannotWrite(target, output);
  if (input.ok()) return input;
  const std::string kept = "The database " + target.db()->GetName() + " holds the " +
                           Thousands(result->lines) + " lines before; to go on, ";
  if (input.IsAborted()) return Status::Aborted("interrupted. " + kept + AgainWith(target));
  return Status::InvalidArgument(MessageOf(input) + "\n" + kept + "correct it and " +
                                 AgainWith(target));
}

// RocksDB 7.8 has no call that waits for compactions, and in universal style a compaction may be
// "pending" for ever: nothing must have been running for a while.
Status WaitForCompactions(rocksdb::DB* db, Progress* progress) {
  constexpr auto kLook = std::chrono::milliseconds(10);
  constexpr int kQuietLooks = 10;
  progress->Begin("waiting for compactions");
  for (int quiet = 0; quiet < kQuietLooks; quiet++) {
    uint64_t flushes = 0, compactions = 0;
    db->GetAggregatedIntProperty("rocksdb.num-running-flushes", &flushes);
    db->GetAggregatedIntProperty("rocksdb.num-running-compactions", &compactions);
    if (flushes + compactions > 0) quiet = 0;
    if (InterruptSignal() != 0) return Interrupted();
    std::this_thread::sleep_for(kLook);
  }
  return Status::OK();
}

Status Compact(const Target& target, Progress* progress) {
  progress->Begin("compacting");
  rocksdb::CompactRangeOptions everything;
  everything.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  std::atomic<bool> canceled = false;
  everything.canceled = &canceled;
  auto compaction = std::async(std::launch::async, [&] {
    return target.db()->CompactRange(everything, target.family(), nullptr, nullptr);
  });
  while (compaction.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    if (InterruptSignal() != 0) canceled = true;
  }
  const Status status = compaction.get();
  return canceled ? Interrupted() : status;
}

// A line is a key, or a key, a TAB and a value. A later line wins over an earlier one of the same
// key. Memory does not grow with the input. The status says it all, for people: what is wrong in
// which line, what is in the database now, what to do. Aborted if the user interrupted it. Whatever
// happens, the database is consistent and holds the first lines of the input, or all.
Status Load(const LoadOptions& options, Progress* progress, Json* document) {
  const auto start = std::chrono::steady_clock::now();
  LineReader reader(options.input);
  reader.LimitLines(kMostLineBytes);
  RETURN_IF_ERROR(LineStatus(reader));
  std::unique_ptr<Target> target;
  RETURN_IF_ERROR(Target::Open(options.target, &target));

  progress->Begin("loading", reader.total_bytes(), /*units_are_bytes=*/true);
  Loaded loaded;
  RETURN_IF_ERROR(WriteLines(&reader, *target, options.escaped, progress, &loaded));

  // A compaction of all skips levels that one of RocksDB's own is just writing to.
  Status status = WaitForCompactions(target->db(), progress);
  if (status.ok() && options.compact) status = Compact(*target, progress);
  if (status.ok() && options.compact) status = WaitForCompactions(target->db(), progress);
  rocksdb::TablePropertiesCollection tables;
  if (status.ok()) status = target->db()->GetPropertiesOfAllTables(target->family(), &tables);
  if (status.IsAborted()) {
    return Status::Aborted("interrupted. All lines are in " + target->db()->GetName() +
                           ", and compactions go on when it is opened the next time");
  }
  uint64_t entries = 0, filter_bytes = 0;
  for (const auto& [file, properties] : tables) {
    entries += properties->num_entries;
    filter_bytes += properties->filter_size;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  *document = {{"database", options.target.directory},
               {"column_family", options.target.column_family},
               {"spec", options.target.spec},
               {"lines", loaded.lines},
               {"input_bytes", loaded.input_bytes},
               {"files", tables.size()},
               {"entries", entries},
               {"filter_bytes", filter_bytes},
               {"seconds", seconds.count()}};
  return status.ok() ? status : CannotWrite(*target, status);
}

std::string InWords(const Json& loaded) {
  const auto entries = loaded["entries"].get<double>();
  const double bits = entries == 0 ? 0 : 8 * loaded["filter_bytes"].get<double>() / entries;
  return Counted(loaded["lines"], "line") + Filled(" in {seconds:.1} s. {database} has ", loaded) +
         Counted(loaded["files"], "file") + " with " + Counted(loaded["entries"], "entry") +
         Filled(" and {filter_bytes} bytes of filters, ", loaded) + Fixed(bits, 2) +
         " bits per entry.\n";
}

void AddFlags(Parser* parser, LoadOptions* options) {
  TargetOptions* target = &options->target;
  AddText(parser, "--db", &target->directory, "DIR", "the database: a new or empty directory")
      ->required();
  AddText(parser, "--spec", &target->spec, "SPEC",
          "the filters of its files: rocksieve.ribbon:10, bloomfilter:10:false, "
          "ribbonfilter:10, none, ...")
      ->required();
  AddText(parser, "--input", &options->input, "FILE", "the lines, - for standard input")
      ->required();
  Option* const add =
      parser->add_flag("--add", target->add,
                       "add to a database that exists, with its options; SPEC is for new files");
  AddText(parser, "--column-family", &target->column_family, "NAME",
          "load into this one, and make it if it is not there. Default: default");
  AddText(parser, "--options", &target->option_string, "STRING",
          "options of RocksDB for a new database, as in name=value;name=value")
      ->excludes(add);
  parser->add_flag("--partitioned", target->partitioned,
                   "files with partitioned filters and indexes");
  AddEscapedFlag(parser, &options->escaped);
  parser->add_flag("--compact", options->compact, "compact everything at the end");
}

struct IngestOptions {
  TargetOptions target;
  std::vector<std::string> files;
};

// Adds what the file holds to "entries" and "filter_bytes".
Status CountFile(const std::string& path, const rocksdb::Options& options, Json* document) {
  rocksdb::SstFileReader reader(options);
  Status status = reader.Open(path);
  if (status.ok()) status = reader.VerifyChecksum();
  if (!status.ok()) {
    return Status::InvalidArgument("cannot ingest " + path + ": " + status.ToString() +
                                   "\nNothing was ingested. Name SST files that rocksieve join or "
                                   "an SstFileWriter made.");
  }
  const auto properties = reader.GetTableProperties();
  if (properties->comparator_name != options.comparator->Name()) {
    return Status::InvalidArgument("cannot ingest " + path + ": its keys are ordered by " +
                                   properties->comparator_name + ", those of the database by " +
                                   options.comparator->Name() + ".\nNothing was ingested.");
  }
  document->at("entries") = document->at("entries").get<uint64_t>() + properties->num_entries;
  document->at("filter_bytes") =
      document->at("filter_bytes").get<uint64_t>() + properties->filter_size;
  return status;
}

Status Ingest(const IngestOptions& options, Progress* progress, Json* document) {
  std::unique_ptr<Target> target;
  RETURN_IF_ERROR(Target::Open(options.target, &target));
  *document = {{"database", options.target.directory},
               {"column_family", options.target.column_family},
               {"files", options.files.size()},
               {"entries", 0},
               {"filter_bytes", 0}};
  const rocksdb::Options opened = target->db()->GetOptions(target->family());
  progress->Begin("checking files", options.files.size());
  for (const std::string& file : options.files) {
    RETURN_IF_ERROR(CountFile(file, opened, document));
    if (!progress->Advance()) return Status::Aborted("interrupted");
  }
  progress->Begin("ingesting");
  rocksdb::IngestExternalFileOptions ingesting;
  ingesting.write_global_seqno = false;  // the file stays as it is
  const Status status =
      target->db()->IngestExternalFile(target->family(), options.files, ingesting);
  if (status.ok()) return status;
  return Status::IOError("cannot ingest into " + options.target.directory + ": " +
                         status.ToString() +
                         "\nNothing was ingested. A database's own SST files cannot be.");
}

std::string IngestedInWords(const Json& ingested) {
  return Counted(ingested["files"], "file") + " with " + Counted(ingested["entries"], "entry") +
         Filled(" and {filter_bytes} bytes of filters, now in {database}.\n", ingested);
}

}  // namespace

Command AddLoadCommand(Parser* parent) {
  const auto options = std::make_shared<LoadOptions>();
  Parser* parser = AddParser(
      parent,
      {.name = "load",
       .summary = "a database from lines of text, for trying things out",
       .description = "A line is a key, or a key, a TAB and a value; of lines with equal keys the "
                      "last one wins. Any order, any number; at most 8 MiB each.",
       .exit_codes = "0 done; 2 could not run, or bad usage. After Ctrl-C, as after an error, the "
                     "database is intact and holds the first lines of the input.",
       .example = "Example:\n"
                  "  seq 1000000 | rocksieve load --db=/tmp/db --spec=rocksieve.bloom:10 "
                  "--input=-"});
  AddFlags(parser, options.get());
  return Reporting(parser, [options](Progress* progress, Report* report) {
    report->words = InWords;
    return Load(*options, progress, &report->document);
  });
}

Command AddIngestCommand(Parser* parent) {
  const auto options = std::make_shared<IngestOptions>();
  options->target.add = true;
  Parser* parser = AddParser(
      parent,
      {.name = "ingest",
       .summary = "puts SST files, such as of a join, into a database",
       .description =
           "All of them, or none. The database is opened with the options that it has, and "
           "keeps them, its filter policy too; its own rows are older than those of the files. No "
           "other process may have it open; such a program calls DB::IngestExternalFile().",
       .exit_codes = "0 done; 2 could not run, or bad usage",
       .example = "Example:\n"
                  "  rocksieve join --db=/var/db --remote=primary:7420 --certs=certs \\\n"
                  "      --op=difference --format=sst --output=missing.sst\n"
                  "  rocksieve ingest --db=/var/db missing.sst"});
  AddText(parser, "--db", &options->target.directory, "DIR", "the database")->required();
  AddText(parser, "--column-family", &options->target.column_family, "NAME",
          "into this one. Default: default");
  AddText(parser, "FILE", &options->files, "FILE.sst", "what to ingest; later files win")
      ->required();
  return Reporting(parser, [options](Progress* progress, Report* report) {
    report->words = IngestedInWords;
    return Ingest(*options, progress, &report->document);
  });
}

}  // namespace rocksieve::tools
