// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include <rocksieve/join/diff.h>

#include "lib/join/text/text_sinks.h"
#include "support/text.h"

namespace rocksieve::join {
namespace {

std::string_view WordOf(Difference difference) {
  switch (difference) {
    case Difference::kLocalOnly:
      return "local-only";
    case Difference::kRemoteOnly:
      return "remote-only";
    default:
      return "changed";
  }
}

char MarkOf(Difference difference) {
  switch (difference) {
    case Difference::kLocalOnly:
      return '<';
    case Difference::kRemoteOnly:
      return '>';
    default:
      return '|';
  }
}

ReadableValue Readable(std::string_view value) {
  ReadableValue readable;
  if (!ReadValue(value, &readable).ok()) readable.plain = value;
  return readable;
}

void AppendTsvValue(const std::optional<std::string_view>& value, std::string* line) {
  line->push_back('\t');
  if (!value) return;
  const ReadableValue readable = Readable(*value);
  AppendEscapedText(readable.plain, line);
  const char* comma = "";
  for (const auto& [name, bytes] : readable.columns) {
    line->append(comma);
    AppendEscapedText(name, line);
    line->push_back('=');
    AppendEscapedText(bytes, line);
    comma = ",";
  }
}

void AppendJsonValue(const std::string& side, const std::optional<std::string_view>& value,
                     std::string* line) {
  if (!value) return;
  const ReadableValue readable = Readable(*value);
  if (!readable.has_columns) {
    AppendJsonMember(side + "_value", readable.plain, line);
    return;
  }
  line->append(",\"").append(side).append("_columns\":[");
  const char* comma = "";
  for (const auto& [name, bytes] : readable.columns) {
    line->append(comma).append("{");
    AppendJsonMember("name", name, line);
    AppendJsonMember("value", bytes, line);
    line->append("}");
    comma = ",";
  }
  line->append("]");
}

}  // namespace

std::string VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatch:
      return "match";
    case Verdict::kTransient:
      return "transient";
    case Verdict::kDiverged:
      return "diverged";
    default:
      return "different";
  }
}

std::string FormatDifference(const DifferentRow& row, DiffFormat format,
                             std::string_view column_family) {
  std::string line;
  if (format == DiffFormat::kJson) {
    line = "{";
    AppendJsonMember("column_family", column_family, &line);
    AppendJsonMember("difference", WordOf(row.difference), &line);
    AppendJsonMember("verdict", VerdictName(row.verdict), &line);
    AppendJsonMember("key", row.key, &line);
    AppendJsonValue("local", row.local_value, &line);
    AppendJsonValue("remote", row.remote_value, &line);
    return line + "}\n";
  }
  if (format == DiffFormat::kText) {
    line = {MarkOf(row.difference), ' '};
    AppendEscapedText(row.key, &line);
    return line + "\n";
  }
  AppendEscapedText(column_family, &line);
  line.append("\t").append(WordOf(row.difference));
  line.append("\t").append(VerdictName(row.verdict)).append("\t");
  AppendEscapedText(row.key, &line);
  AppendTsvValue(row.local_value, &line);
  AppendTsvValue(row.remote_value, &line);
  return line + "\n";
}

}  // namespace rocksieve::join
