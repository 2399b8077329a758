// SPDX-License-Identifier: Apache-2.0
#include "tools/join/database_diff.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <ctime>
#include <memory>

#include "plugin/database/column_family.h"
#include "plugin/database/database.h"
#include "support/table.h"
#include "support/text.h"
#include "tools/command/command.h"
#include "tools/join/joining.h"

namespace rocksieve::tools {
namespace {

using join::ColumnFamilyDescription;
using join::DiffReport;
using rocksdb::Status;
using Descriptions = std::vector<ColumnFamilyDescription>;

// What a server says of a column family that it does not serve.
constexpr char kNotServed[] = "is not served";

// From what matters most to what matters least.
constexpr const char* kVerdicts[] = {"unreadable", "diverged",  "different",
                                     "schema",     "transient", "match"};

size_t WeightOf(const std::string& verdict) {
  return static_cast<size_t>(std::find(std::begin(kVerdicts), std::end(kVerdicts), verdict) -
                             std::begin(kVerdicts));
}

Status Describe(const std::string& directory, Descriptions* descriptions) {
  std::unique_ptr<Database> database;
  const Status status = Database::Open(directory, {}, &database);
  if (!status.ok()) return status;
  for (const ColumnFamily& family : database->column_families()) {
    descriptions->push_back(
        {family.name, family.comparator_name, MergeOperatorName(family.name, database->options())});
  }
  return status;
}

const ColumnFamilyDescription* Find(const Descriptions& families, const std::string& name) {
  for (const ColumnFamilyDescription& family : families) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

std::string OrNone(const std::string& name) { return name.empty() ? "none" : name; }

// Why rows of both could be equal and mean different things; empty if they could not.
std::string SchemaDifference(const ColumnFamilyDescription& here,
                             const ColumnFamilyDescription& there) {
  if (here.comparator != there.comparator) {
    return "its keys are ordered by " + here.comparator + " here, and by " + there.comparator +
           " there";
  }
  if (here.merge_operator != there.merge_operator) {
    return "its merge operator is " + OrNone(here.merge_operator) + " here, and " +
           OrNone(there.merge_operator) + " there";
  }
  return "";
}

// A directory for each server.
std::string StatesWith(const join::Peer& peer) {
  std::string name = "/" + peer.addresses.front();
  std::replace(name.begin() + 1, name.end(), '/', '_');
  return name;
}

class DatabaseDiff {
 public:
  DatabaseDiff(const DatabaseDiffOptions& options, const TakeDifference& take)
      : options_(options), take_(take) {}

  Status Run(Json* families) {
    Status status = Describe(options_.directory, &here_);
    if (status.ok() && !options_.peer) status = Describe(options_.other_directory, &there_);
    there_is_known_ = status.ok() && !options_.peer;
    if (options_.state != nullptr && options_.peer) TakeThere(options_.state->there());
    for (const std::string& name : InOrder(NamesHere())) {
      if (status.ok()) status = CompareOrSay(name, families);
    }
    if (!status.ok() || !options_.column_families.empty()) return status;
    for (const ColumnFamilyDescription& family : there_) {
      if (Find(here_, family.name) == nullptr) {
        families->push_back(Missing(family.name, "it is there only"));
      }
    }
    return status;
  }

 private:
  // What an earlier process had learned of the server: it may serve others by now.
  void TakeThere(const Json& families) {
    for (const Json& family : families) {
      there_.push_back({family["name"], family["comparator"], family["merge_operator"]});
    }
  }
  Json ThereJson() const {
    Json families = Json::array();
    for (const ColumnFamilyDescription& family : there_) {
      families.push_back({{"name", family.name},
                          {"comparator", family.comparator},
                          {"merge_operator", family.merge_operator}});
    }
    return families;
  }

  std::vector<std::string> NamesHere() const {
    if (!options_.column_families.empty()) return options_.column_families;
    std::vector<std::string> names;
    for (const ColumnFamilyDescription& family : here_) names.push_back(family.name);
    return names;
  }

  // What is under way goes on before anything else begins, whatever was added meanwhile: its rows
  // are the last ones that were given.
  std::vector<std::string> InOrder(std::vector<std::string> names) const {
    if (options_.state == nullptr) return names;
    const auto next = std::find_if(names.begin(), names.end(), [this](const std::string& name) {
      return options_.state->Done(name) == nullptr;
    });
    const auto under_way = std::find(next, names.end(), options_.state->UnderWay());
    if (under_way != names.end()) std::rotate(next, under_way, under_way + 1);
    return names;
  }

  static std::string NotServed(const std::string& name) {
    return "the server does not serve it: start it with --column-family=" + name;
  }

  static Json Missing(const std::string& name, const std::string& reason) {
    return {{"name", name}, {"verdict", "schema"}, {"reason", reason}};
  }

  Status Say(const Json& family, Json* families) const {
    families->push_back(family);
    return options_.state == nullptr ? Status::OK() : options_.state->Finish(family, ThereJson());
  }

  Status CompareOrSay(const std::string& name, Json* families) {
    const Json* const done = options_.state == nullptr ? nullptr : options_.state->Done(name);
    if (done != nullptr) {
      families->push_back(*done);
      return Status::OK();
    }
    const bool is_here = Find(here_, name) != nullptr, is_there = Find(there_, name) != nullptr;
    if (there_is_known_ && (!is_here || !is_there)) {
      if (!is_here && !is_there) {
        return Status::InvalidArgument("neither side has a column family " + name);
      }
      return Say(Missing(name, is_there        ? "it is there only"
                               : options_.peer ? NotServed(name)
                                               : "it is here only"),
                 families);
    }
    if (!is_here) return Say(Missing(name, "it is not here"), families);
    Json family = Json::object();
    const Status status = Compare(name, &family);
    // Nothing is known of the server before one of its column families was compared.
    const bool not_served =
        status.IsInvalidArgument() && MessageOf(status).find(kNotServed) != std::string::npos;
    if (not_served) return Say(Missing(name, NotServed(name)), families);
    if (status.ok()) return Say(family, families);
    families->push_back(family);
    return status;
  }

  Status BeginOrGoOn(const std::string& name, join::DiffOptions* options) const {
    if (options_.state == nullptr) return Status::OK();
    const Status status = options_.state->Begin(name, options);
    join::DiffReport earlier;
    options_.state->AddEarlier(&earlier);
    const uint64_t rows = earlier.equal_rows + earlier.local_only_rows + earlier.changed_rows;
    if (options->join.keys_expected) {
      options->join.keys_expected = [rows, expect = options->join.keys_expected](uint64_t keys) {
        expect(keys > rows ? keys - rows : 0);
      };
    }
    return status;
  }

  Status Compare(const std::string& name, Json* family) {
    join::Input here, there;
    join::InputOptions limited;
    limited.rate_limiter = rate_limiter_;
    Status status = join::Input::OfDirectory(options_.directory, name, limited, &here);
    if (status.ok() && !options_.peer) {
      status = join::Input::OfDirectory(options_.other_directory, name, limited, &there);
    }
    join::DiffOptions options = options_.diff;
    if (!options.state_directory.empty()) options.state_directory += StatesWith(*options_.peer);
    if (status.ok()) status = BeginOrGoOn(name, &options);
    if (!status.ok()) return status;
    DiffReport report;
    join::DifferenceCallback callback;
    Status taken;  // is no verdict about the databases
    if (take_) callback = [&](const join::DifferentRow& row) { return taken = take_(name, row); };
    if (options_.peer) {
      join::Peer peer = *options_.peer;
      peer.column_family = name;
      status = join::Diff(here, peer, options, callback, &report);
      if (!report.join.servers.empty() && !report.join.servers[0].column_families.empty()) {
        there_ = report.join.servers[0].column_families;
        there_is_known_ = true;
      }
    } else {
      status = join::Diff(here, there, options, callback, &report);
    }
    if (options_.state != nullptr) options_.state->AddEarlier(&report);
    *family = FamilyJson(name, report);
    const Status judged = Judge(status, report, family);
    return taken.ok() ? judged : taken;
  }

  // What the sides have in common, and what the comparison said.
  Status Judge(const Status& status, const DiffReport& report, Json* family) const {
    const std::string name = (*family)["name"];
    const ColumnFamilyDescription* const other = Find(there_, name);
    (*family)["verdict"] = join::VerdictName(report.verdict);
    (*family)["errors"] = status.ok() ? 0 : 1;
    const std::string schema = other == nullptr ? "" : SchemaDifference(*Find(here_, name), *other);
    (*family)["reason"] = TextOrNull(schema);
    if (!schema.empty() && report.verdict == join::Verdict::kMatch) (*family)["verdict"] = "schema";
    if (status.ok()) return status;
    if (status.IsCorruption() || status.IsIOError() || status.IsNotSupported()) {
      (*family)["verdict"] = status.IsNotSupported() ? "schema" : "unreadable";
      (*family)["reason"] = MessageOf(status);
      return Status::OK();
    }
    return status;
  }

  static Json FamilyJson(const std::string& name, const DiffReport& report) {
    return {
        {"name", name},
        {"equal_rows", report.equal_rows},
        {"local_only_rows", report.local_only_rows},
        {"remote_only_rows", report.remote_only_rows},
        {"changed_rows", report.changed_rows},
        {"transient_rows", report.transient_rows},
        {"diverged_rows", report.diverged_rows},
        {"looks", report.looks},
        {"shared_files", report.shared.files},
        {"shared_file_bytes", report.shared.bytes},
        {"only_changes", report.only_changes},
        {"by_journal", report.by_journal},
        {"why_full", report.why_full.empty() ? Json() : Json(report.why_full)},
        {"full_at_seconds", report.full_at_seconds == 0 ? Json() : Json(report.full_at_seconds)},
        {"wire_sent_bytes", report.join.wire_bytes_sent + report.recheck_bytes_sent},
        {"wire_received_bytes", report.join.wire_bytes_received + report.recheck_bytes_received},
        {"seconds", report.join.seconds}};
  }

  const DatabaseDiffOptions& options_;
  const TakeDifference& take_;
  const std::shared_ptr<rocksdb::RateLimiter> rate_limiter_ =
      RateLimiterOf(options_.bytes_per_second);
  Descriptions here_, there_;
  bool there_is_known_ = false;
};

}  // namespace

Status DiffDatabases(const DatabaseDiffOptions& options, const TakeDifference& take,
                     Json* document) {
  Json families = Json::array();
  const Status status = DatabaseDiff(options, take).Run(&families);
  size_t weight = std::size(kVerdicts) - 1;
  int errors = 0;
  for (const Json& family : families) {
    if (family.contains("verdict")) weight = std::min(weight, WeightOf(family["verdict"]));
    errors += family.value("errors", 0);
  }
  *document = {{"local", options.directory},
               {"remote", options.peer ? options.peer->addresses.front() : options.other_directory},
               {"verdict", kVerdicts[weight]},
               {"errors", errors},
               {"recheck_seconds", static_cast<double>(options.diff.recheck.count()) / 1000},
               {"column_families", families}};
  if (options.state != nullptr) {
    Json parts = options.state->parts();
    for (Json& part : parts) part["next_key"] = PrintableKey(part["next_key"].get<std::string>());
    (*document)["parts"] = parts;
  }
  return status;
}

namespace {

using Kind = Column::Kind;

std::string VerdictOf(const Json& family) {
  std::string verdict = family["verdict"];
  std::transform(verdict.begin(), verdict.end(), verdict.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return verdict;
}

bool SchemaDiffers(const Json& document) {
  const Json& families = document["column_families"];
  return std::any_of(families.begin(), families.end(), [](const Json& family) {
    return family["verdict"] == "schema" || !family["reason"].is_null();
  });
}

// What was left out, with --state; empty if nothing was.
std::string ChangesInWords(const Json& families) {
  std::string text;
  for (const Json& family : families) {
    if (!family.contains("only_changes")) continue;
    const std::string name = family["name"];
    if (family["only_changes"]) {
      text += name + ": only rows that changed since the comparison before" +
              (family["by_journal"] ? ", by the journal," : ",") +
              " or differed in it; all were compared on " +
              UtcText(family["full_at_seconds"].get<std::time_t>(), "%Y-%m-%d") + ".\n";
    } else if (!family["why_full"].is_null()) {
      text += Filled("{name}: all rows, since {why_full}.\n", family);
    }
  }
  return text;
}

std::string Rows(const Json& rows) {
  return rows.is_null() ? "-" : Thousands(rows.get<uint64_t>());
}

std::string AppliedInWords(const Json& applied) {
  const auto rows = [&](const char* field) { return Counted(applied[field], "row"); };
  std::string text = "Written: " + rows("put_rows") + " put, " + rows("deleted_rows") +
                     " deleted; " + rows("done_before_rows") + " had been right already.\n";
  if (applied["left_alone_rows"] != 0) {
    text +=
        rows("left_alone_rows") + " left alone: changed since they were compared. Compare again.\n";
  }
  return text;
}

std::string PartsInWords(const Json& document) {
  const Json& parts = document["parts"];
  return "Compared in " + std::to_string(parts.size()) + " parts, which began from " +
         parts.front()["began"].get<std::string>() + " to " +
         parts.back()["began"].get<std::string>() +
         ": rows of different parts were seen at different times.\n";
}

std::string UndoInWords(const Json& applied) {
  return Filled("To take it back: --undo={undo_log}\n", applied);
}

}  // namespace

std::string DiffInWords(const Json& document) {
  if (!document.contains("column_families")) return AppliedInWords(document["applied"]);
  std::string text = ForPeople({{"name", "", "column family", Kind::kText},
                                {"equal_rows", "rows", "equal", Kind::kFixed, 0, Rows},
                                {"local_only_rows", "only", "here", Kind::kFixed, 0, Rows},
                                {"remote_only_rows", "only", "there", Kind::kFixed, 0, Rows},
                                {"changed_rows", "", "changed", Kind::kFixed, 0, Rows},
                                {"", "", "verdict", Kind::kText, 0, VerdictOf}},
                               document["column_families"]);
  uint64_t bytes = 0, shared_files = 0, shared_bytes = 0;
  for (const Json& family : document["column_families"]) {
    if (family.contains("shared_files")) {
      shared_files += family["shared_files"].get<uint64_t>();
      shared_bytes += family["shared_file_bytes"].get<uint64_t>();
    }
    for (const char* way : {"wire_sent_bytes", "wire_received_bytes"}) {
      if (family.contains(way)) bytes += family[way].get<uint64_t>();
    }
    if (family.contains("reason") && !family["reason"].is_null()) {
      text += Filled("{name}: {reason}.\n", family);
    }
  }
  if (bytes > 0) text += Thousands(bytes) + " bytes on the wire.\n";
  text += ChangesInWords(document["column_families"]);
  if (shared_files > 0) {
    text += "Not read, since both sides have the same file: " + Counted(shared_files, "file") +
            " of " + Thousands(shared_bytes) + " bytes. Rows are those of other files.\n";
  }
  if (document.contains("parts") && document["parts"].size() > 1) text += PartsInWords(document);
  if (document.contains("applied")) {
    return text + AppliedInWords(document["applied"]) + UndoInWords(document["applied"]);
  }
  if (document["recheck_seconds"] == 0 && document["verdict"] == "different") {
    text +=
        "Rows that are being written differ, too: --recheck=SECONDS looks at those that differ "
        "again.\n";
  }
  return text;
}

int DiffExitCode(const Json& document) {
  const bool was_applied = document.contains("applied");
  const bool left_alone = was_applied && document["applied"]["left_alone_rows"] != 0;
  if (!document.contains("verdict")) return left_alone ? kCheckFailed : kDone;
  const std::string verdict = document["verdict"];
  if (verdict == "unreadable") return kCannotRun;
  if (left_alone) return kCheckFailed;
  // Rows that differed are alike now; what the sides lack of each other stays.
  if (was_applied) return SchemaDiffers(document) ? kCheckFailed : kDone;
  return verdict == "transient" || verdict == "match" ? kDone : kCheckFailed;
}

}  // namespace rocksieve::tools
