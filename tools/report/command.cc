// SPDX-License-Identifier: Apache-2.0
#include "tools/command/command.h"
#include "support/return_if_error.h"

#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "plugin/database/policy_spec.h"
#include "support/files.h"
#include "support/text.h"
#include "tools/report/page.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

struct ReportFlags {
  std::string database;
  std::string output;
  std::vector<std::string> column_families, specs, joins;
};

// What can be said before anything is read.
Status CheckFlags(const ReportFlags& flags) {
  if (flags.database.empty() && flags.joins.empty()) {
    return Status::InvalidArgument(
        "there is nothing to report on: name a database with --db=DIR, or a join with --join=FILE");
  }
  if (flags.database.empty() && (!flags.column_families.empty() || !flags.specs.empty())) {
    return Status::InvalidArgument("--column-family and --spec are of a database: name --db=DIR");
  }
  for (const std::string& spec : flags.specs) {
    PolicySpec policy;
    RETURN_IF_ERROR(PolicySpec::Parse(spec, &policy));
  }
  struct stat there {};
  if (stat(flags.output.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return Status::InvalidArgument("--output: " + flags.output +
                                   " is there and is no file: name another one");
  }
  return Status::OK();
}

Json DocumentOf(const ReportFlags& flags, const PageFacts& facts, size_t bytes) {
  Json families = Json::array();
  size_t findings = 0, left_out = 0;
  bool damaged = false;
  if (facts.database) {
    for (const FamilyReport& family : facts.database->families) {
      const Json& explained = family.explained;
      families.push_back({{"name", explained["name"]},
                          {"files", explained["files"]},
                          {"keys", explained["keys"]},
                          {"filter_bytes", explained["filter_bytes"]}});
    }
    findings = facts.database->findings.size();
    left_out = facts.database->left_out.size();
    damaged = facts.database->damaged();
  }
  return {{"database", TextOrNull(flags.database)},
          {"output", flags.output},
          {"output_bytes", bytes},
          {"ok", !damaged},
          {"healthy", findings == 0},
          {"findings", findings},
          {"column_families", families},
          {"column_families_left_out", left_out},
          {"joins", facts.joins.size()}};
}

std::string InWords(const Json& document) {
  std::string text = Filled("{output}: {output_bytes} bytes", document);
  if (!document["database"].is_null()) {
    const size_t families = document["column_families"].size();
    text += "; " + (families == 1 ? "1 column family" : Thousands(families) + " column families") +
            ", " + Counted(document["findings"], "finding");
    if (document["column_families_left_out"] > 0) {
      text += Filled(", {column_families_left_out} smaller column families left out", document);
    }
    if (!document["ok"].get<bool>()) text += ", and damaged files or filters";
  }
  if (document["joins"] > 0) text += "; " + Counted(document["joins"], "join");
  return text + ".\n";
}

// The place for the page and the joins come first: a database takes long to read.
Status MakePage(const ReportFlags& flags, Progress* progress, Report* report) {
  RETURN_IF_ERROR(CheckFlags(flags));
  PageFacts facts;
  std::string error;
  for (const std::string& path : flags.joins) {
    if (!ReadJoinFile(path, &facts.joins.emplace_back(), &error)) {
      return Status::InvalidArgument(error);
    }
  }
  const std::string remedy = "\nName another file with --output.";
  const std::unique_ptr<PendingFile> file = PendingFile::Create(flags.output, &error);
  if (file == nullptr) return Status::InvalidArgument(error + remedy);
  if (!flags.database.empty()) {
    RETURN_IF_ERROR(Gather(flags.database, flags.column_families, flags.specs, progress,
                           &facts.database.emplace()));
  }
  facts.unix_time = std::time(nullptr);
  const std::string page = Page(facts);
  if (!file->Append(page, &error) || file->Publish(&error) != 0) {
    return Status::InvalidArgument(error + remedy);
  }
  report->document = DocumentOf(flags, facts, page.size());
  report->words = InWords;
  return Status::OK();
}

void AddFlags(Parser* parser, ReportFlags* flags) {
  AddText(parser, "--db", &flags->database, "DIR", "the database; it is only read");
  const auto is_page = [](const std::string& path) {
    const std::string extension = std::filesystem::path(path).extension();
    return extension.empty() || extension == ".html" || extension == ".htm"
               ? ""
               : "makes HTML, which programs do not look for in *" + extension + "; name a *.html";
  };
  AddText(parser, "--output", &flags->output, "FILE",
          "the page, which appears when it is complete, in place of one that is there")
      ->required()
      ->check(is_page);
  AddText(parser, "--join", &flags->joins, "FILE",
          "what rocksieve join --json printed, of a join or a plan; may be repeated");
  AddText(parser, "--spec", &flags->specs, "SPEC",
          "a further policy to compare with, ours or RocksDB's; may be repeated");
  AddText(parser, "--column-family", &flags->column_families, "NAME",
          "only this one; may be repeated. Default: the 20 largest");
}

}  // namespace

Command AddReportCommand(Parser* parent) {
  const auto flags = std::make_shared<ReportFlags>();
  Parser* parser = AddParser(
      parent,
      {.name = "report",
       .summary = "the filters of a database, as a page to look at",
       .description =
           "One HTML file that needs no network and no scripts: the tree as a picture, rates "
           "promised and measured, what a lookup of a missing key costs, and would cost with other "
           "policies, what doctor finds; the plan or the bytes of a join. Does what explain, "
           "whatif and doctor do, and only looks: the database may be in use.",
       .exit_codes = "0 done; 1 done, and something is damaged or found; 2 could not run, or bad "
                     "usage",
       .example = "Example:\n  rocksieve report --db=/var/lib/app/db --output=report.html"});
  AddFlags(parser, flags.get());
  return Reporting(parser, [flags](Progress* progress, Report* report) {
    return MakePage(*flags, progress, report);
  });
}

}  // namespace rocksieve::tools
