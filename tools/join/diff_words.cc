// SPDX-License-Identifier: Apache-2.0
#include "tools/join/diff_words.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <ctime>

#include "support/table.h"
#include "support/text.h"
#include "tools/command/command.h"

namespace rocksieve::tools {
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
