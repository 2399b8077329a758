// SPDX-License-Identifier: Apache-2.0
#include "tools/command/key_lines.h"

#include <chrono>

#include "support/parallel.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr auto kSilence = std::chrono::seconds(2);
constexpr uint64_t kLinesBetweenLooks = 1024;  // at the clock

}  // namespace

Status LineStatus(const LineReader& reader) {
  if (reader.interrupted()) return Status::Aborted("interrupted");
  return reader.error().empty() ? Status::OK() : Status::InvalidArgument(reader.error());
}

void AddEscapedFlag(Parser* parser, bool* escaped) {
  parser->add_flag(
      "--escaped", *escaped,
      "the lines are as rocksieve join writes them: \\\\ \\t \\n \\r \\0 are single bytes");
}

Status UndoEscapes(const LineReader& reader, std::string_view* part, std::string* bytes) {
  if (!FromEscapedText(*part, bytes)) {
    return Status::InvalidArgument(reader.name() + ", line " +
                                   std::to_string(reader.line_number()) +
                                   ": with --escaped, after a backslash stands one of \\ t n r 0.");
  }
  *part = *bytes;
  return Status::OK();
}

void AddKeyLinesFlags(Parser* parser, KeyLines* lines) {
  AddText(parser, "--input", &lines->input, "FILE", "the lines. Default: the standard input");
  AddEscapedFlag(parser, &lines->escaped);
}

Status ForEachKey(const KeyLines& lines, const std::string& step, Progress* progress,
                  const std::function<Status(std::string_view, std::string_view)>& visit,
                  LinesRead* read) {
  LineReader reader(lines.input);
  reader.LimitLines(kMostLineBytes);
  if (progress != nullptr) {
    progress->Begin(step, reader.total_bytes(), /*units_are_bytes=*/true, kSilence);
  }
  uint64_t shown = 0;
  std::string key_bytes;
  std::string_view line;
  Status status;
  while (status.ok() && reader.Next(&line)) {
    std::string_view key = line;
    if (lines.escaped) status = UndoEscapes(reader, &key, &key_bytes);
    if (status.ok()) status = visit(line, key);
    if (!status.ok() || ++read->lines % kLinesBetweenLooks != 0) continue;
    const uint64_t more = reader.offset() - shown;
    shown += more;
    if (progress != nullptr) {
      status = Advanced(progress, more);
    } else if (InterruptSignal() != 0) {
      status = Status::Aborted("interrupted");
    }
  }
  read->bytes = reader.offset();
  return status.ok() ? LineStatus(reader) : status;
}

}  // namespace rocksieve::tools
