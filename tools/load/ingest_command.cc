// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "support/progress.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/load/target.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

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
  document->at("entries") = document->at("entries").get<uint64_t>() + properties->num_entries;
  document->at("filter_bytes") =
      document->at("filter_bytes").get<uint64_t>() + properties->filter_size;
  return status;
}

Status Ingest(const IngestOptions& options, Progress* progress, Json* document) {
  std::unique_ptr<Target> target;
  Status status = Target::Open(options.target, &target);
  if (!status.ok()) return status;
  *document = {{"database", options.target.directory},
               {"column_family", options.target.column_family},
               {"files", options.files.size()},
               {"entries", 0},
               {"filter_bytes", 0}};
  const rocksdb::Options opened = target->db()->GetOptions(target->family());
  progress->Begin("checking files", options.files.size());
  for (const std::string& file : options.files) {
    status = CountFile(file, opened, document);
    if (status.ok() && !progress->Advance()) status = Status::Aborted("interrupted");
    if (!status.ok()) return status;
  }
  progress->Begin("ingesting");
  rocksdb::IngestExternalFileOptions ingesting;
  ingesting.write_global_seqno = false;  // the file stays as it is
  status = target->db()->IngestExternalFile(target->family(), options.files, ingesting);
  if (status.ok()) return status;
  return Status::IOError("cannot ingest into " + options.target.directory + ": " +
                         status.ToString() + "\nNothing was ingested.");
}

std::string IngestedInWords(const Json& ingested) {
  return Counted(ingested["files"], "file") + " with " + Counted(ingested["entries"], "entry") +
         Filled(" and {filter_bytes} bytes of filters, now in {database}.\n", ingested);
}

}  // namespace

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
           "other process may have it open: a program that has calls DB::IngestExternalFile().",
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
