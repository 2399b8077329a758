// SPDX-License-Identifier: Apache-2.0
// Keys that come as lines of text, a key for each: of a file, or from a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <rocksdb/status.h>

#include "support/files.h"
#include "support/progress.h"
#include "tools/command/command.h"

namespace rocksieve::tools {

// Longer ones are refused: what has no newlines is no text.
inline constexpr size_t kMostLineBytes = 8 << 20;

// What the reader says, at the end and after an error: Aborted, "interrupted", after Ctrl-C.
rocksdb::Status LineStatus(const LineReader& reader);

void AddEscapedFlag(Parser* parser, bool* escaped);
// Undoes --escaped in a part of the reader's line. In *bytes, to which *part then points.
rocksdb::Status UndoEscapes(const LineReader& reader, std::string_view* part, std::string* bytes);

struct KeyLines {
  std::string input = "-";  // a path, or "-"
  bool escaped = false;
};

// --input and --escaped.
void AddKeyLinesFlags(Parser* parser, KeyLines* lines);

// What was read.
struct LinesRead {
  uint64_t lines = 0, bytes = 0;
};

// Gives each line, without its newline, and the key that it is to `visit`, whose error ends it.
// Of memory it takes the longest line. A step that lasts for more than two seconds is shown, if
// there is somebody to show it (null: nobody).
rocksdb::Status ForEachKey(
    const KeyLines& lines, const std::string& step, Progress* progress,
    const std::function<rocksdb::Status(std::string_view line, std::string_view key)>& visit,
    LinesRead* read);

}  // namespace rocksieve::tools
