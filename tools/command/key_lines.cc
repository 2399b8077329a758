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

// Shows a step once it has lasted for so long.
class LateProgress {
 public:
  LateProgress(std::string step, uint64_t total_bytes, Progress* progress)
      : step_(std::move(step)), total_bytes_(total_bytes), progress_(progress) {}

  Status Update(uint64_t bytes) {
    if (InterruptSignal() != 0) return Status::Aborted("interrupted");
    if (progress_ == nullptr) return Status::OK();
    if (!shown_) {
      if (std::chrono::steady_clock::now() - begin_ < kSilence) return Status::OK();
      progress_->Begin(step_, total_bytes_, /*units_are_bytes=*/true);
      shown_ = true;
    }
    const uint64_t more = bytes - bytes_;
    bytes_ = bytes;
    return Advanced(progress_, more);
  }

 private:
  const std::string step_;
  const uint64_t total_bytes_;
  Progress* const progress_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  uint64_t bytes_ = 0;
  bool shown_ = false;
};

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
  LateProgress shown(step, reader.total_bytes(), progress);
  std::string key_bytes;
  std::string_view line;
  Status status;
  while (status.ok() && reader.Next(&line)) {
    std::string_view key = line;
    if (lines.escaped) status = UndoEscapes(reader, &key, &key_bytes);
    if (status.ok()) status = visit(line, key);
    if (status.ok() && ++read->lines % kLinesBetweenLooks == 0) {
      status = shown.Update(reader.offset());
    }
  }
  read->bytes = reader.offset();
  return status.ok() ? LineStatus(reader) : status;
}

}  // namespace rocksieve::tools
