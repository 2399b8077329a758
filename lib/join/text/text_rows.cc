// SPDX-License-Identifier: Apache-2.0
#include "lib/join/text/text_rows.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/text.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMarkBytes = 256 << 10;

// What the reader says, at the end and after an error.
absl::Status StatusOf(const LineReader& lines) {
  if (lines.interrupted()) return absl::CancelledError(lines.error());
  return lines.error().empty() ? absl::OkStatus() : absl::DataLossError(lines.error());
}

// The views point into the line.
Row RowOf(std::string_view line) {
  const size_t tab = line.find('\t');
  return {line.substr(0, tab), tab == std::string_view::npos ? "" : line.substr(tab + 1)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<SortedTextSource>> SortedTextSource::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  }
  std::unique_ptr<SortedTextSource> source(new SortedTextSource(path, descriptor));
  struct stat file {};
  if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is no regular file, and cannot be read more than once; join a copy of it"));
  }
  const absl::Status status = source->CheckLines();
  if (!status.ok()) return status;
  return source;
}

SortedTextSource::SortedTextSource(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), state_(StateOfFile()) {}

SortedTextSource::~SortedTextSource() { close(descriptor_); }

std::string SortedTextSource::StateOfFile() const {
  struct stat file {};
  if (fstat(descriptor_, &file) != 0) return "";
  return absl::StrCat(file.st_size, " ", file.st_mtim.tv_sec, " ", file.st_mtim.tv_nsec);
}

absl::Status SortedTextSource::CheckLines() {
  LineReader lines(descriptor_, path_);
  std::string_view line;
  std::string last_key;
  uint64_t number = 0, offset = 0;
  for (; lines.Next(&line); offset = lines.offset()) {
    number++;
    const Row row = RowOf(line);
    const int order = number == 1 ? 1 : row.key.compare(last_key);
    if (order < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(path_, ", line ", number, ": its key is below that of line ", number - 1,
                       ", so the keys are not sorted bytewise. Sort it with LC_ALL=C sort "
                       "(-t $'\\t' -k1,1 if there are values)"));
    }
    if (order > 0) keys_++;
    if (marks_.empty() || offset >= marks_.back().offset + kMarkBytes) {
      marks_.push_back({std::string(row.key), offset});
    }
    last_key = row.key;
  }
  return StatusOf(lines);
}

class SortedTextSource::LineCursor final : public Cursor {
 public:
  LineCursor(const SortedTextSource* source, const KeyInterval& interval, uint64_t offset)
      : source_(source), interval_(interval), lines_(source->descriptor_, source->path_, offset) {}

  bool Next(Row* row) override {
    std::string_view line;
    while (!ended_ && lines_.Next(&line)) {
      *row = RowOf(line);
      ended_ = interval_.end && row->key >= *interval_.end;
      if (!ended_ && row->key >= interval_.begin) return true;
    }
    ended_ = true;
    status_ = StatusOf(lines_);
    if (status_.ok() && source_->StateOfFile() != source_->state_) {
      status_ = absl::AbortedError(
          absl::StrCat(source_->path_, " was changed while it was read. Join a copy of it"));
    }
    return false;
  }
  absl::Status status() const override { return status_; }

 private:
  const SortedTextSource* const source_;
  const KeyInterval interval_;
  LineReader lines_;
  bool ended_ = false;
  absl::Status status_;
};

std::unique_ptr<Cursor> SortedTextSource::Scan(const KeyInterval& interval) {
  // Lines of the same key may stand before the first mark that is not below it.
  auto mark = std::lower_bound(
      marks_.begin(), marks_.end(), interval.begin,
      [](const Mark& candidate, const std::string& key) { return candidate.key < key; });
  if (mark != marks_.begin()) --mark;
  return std::make_unique<LineCursor>(this, interval, mark == marks_.end() ? 0 : mark->offset);
}

namespace {

std::string_view NameOf(Side side) { return side == Side::kClient ? "local" : "remote"; }

// Neither longer forms than needed, nor surrogates, nor beyond U+10FFFF (RFC 3629, section 4).
bool IsUtf8(std::string_view bytes) {
  const auto at = [bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  for (size_t i = 0; i < bytes.size();) {
    const uint8_t first = at(i++);
    if (first < 0x80) continue;
    const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || bytes.size() - i < more) return false;
    const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (at(i) < least || at(i) > most) return false;
    for (size_t j = 1; j < more; j++) {
      if ((at(i + j) & 0xc0) != 0x80) return false;
    }
    i += more;
  }
  return true;
}

}  // namespace

void AppendJsonMember(std::string_view name, std::string_view bytes, std::string* object) {
  if (object->back() != '{') object->push_back(',');
  object->append("\"").append(name);
  if (IsUtf8(bytes)) {
    object->append("\":").append(nlohmann::json(bytes).dump());
    return;
  }
  const std::string base64 = absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()));
  object->append("_base64\":\"").append(base64).append("\"");
}

absl::Status TextSink::Add(const Row& row, Side from) {
  line_.clear();
  AppendLine(row, from, &line_);
  return file_->Append(line_);
}

void TsvSink::AppendLine(const Row& row, Side from, std::string* line) const {
  if (shows_sides()) line->append(NameOf(from)).push_back('\t');
  AppendEscapedText(row.key, line);
  line->push_back('\t');
  AppendEscapedText(row.value, line);
  line->push_back('\n');
}

void JsonLinesSink::AppendLine(const Row& row, Side from, std::string* line) const {
  line->append("{");
  if (shows_sides()) AppendJsonMember("side", NameOf(from), line);
  AppendJsonMember("key", row.key, line);
  AppendJsonMember("value", row.value, line);
  line->append("}\n");
}

}  // namespace rocksieve::join
