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
#include "support/return_if_error.h"
#include "support/text.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMarkBytes = 256 << 10;
constexpr size_t kBufferBytes = 1 << 20;

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

absl::StatusOr<std::unique_ptr<SortedTextSource>> SortedTextSource::Open(
    const std::string& path, const std::function<absl::Status()>& check) {
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
  RETURN_IF_ERROR(source->CheckLines(check));
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

absl::Status SortedTextSource::CheckLines(const std::function<absl::Status()>& check) {
  LineReader lines(descriptor_, path_);
  std::string_view line;
  std::string last_key;
  uint64_t number = 0, offset = 0;
  for (; lines.Next(&line); offset = lines.offset()) {
    if (number++ % 1024 == 0 && check) {
      RETURN_IF_ERROR(check());
    }
    const Row row = RowOf(line);
    const int order = number == 1 ? 1 : row.key.compare(last_key);
    if (order < 0) {
      return absl::FailedPreconditionError(
          absl::StrCat(path_, ", line ", number, ": its key is below that of line ", number - 1,
                       ", so the keys are not sorted bytewise. Sort it with LC_ALL=C sort "
                       "(-t $'\\t' -k1,1 if there are values)"));
    }
    if (order > 0) keys_++;
    if (order == 0) keys_are_unique_ = false;
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

absl::StatusOr<std::unique_ptr<RevocableFile>> RevocableFile::Open(const std::string& path) {
  const bool standard = path == "-";
  const int descriptor = standard
                             ? dup(STDOUT_FILENO)
                             : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<RevocableFile>(
      new RevocableFile(standard ? "the standard output" : path, descriptor));
}

absl::StatusOr<std::unique_ptr<RevocableFile>> RevocableFile::OfDescriptor(
    int descriptor, const std::string& name) {
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", name, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<RevocableFile>(new RevocableFile(name, own));
}

RevocableFile::RevocableFile(std::string name, int descriptor)
    : name_(std::move(name)), descriptor_(descriptor) {
  struct stat file {};
  const int flags = fcntl(descriptor_, F_GETFL);
  const off_t here = lseek(descriptor_, 0, SEEK_CUR);
  can_truncate_ = fstat(descriptor_, &file) == 0 && S_ISREG(file.st_mode) && here >= 0 &&
                  here == file.st_size && (flags & O_APPEND) == 0;
  committed_ = can_truncate_ ? static_cast<uint64_t>(here) : 0;
}

RevocableFile::~RevocableFile() { close(descriptor_); }

absl::Status RevocableFile::Append(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < kBufferBytes ? absl::OkStatus() : Spill();
}

absl::Status RevocableFile::Spill() {
  absl::Status status;
  if (can_truncate_) {
    status = Write(buffer_);
  } else {
    if (held_ == nullptr) {
      ASSIGN_OR_RETURN(held_, TemporaryFile::Create(""));
    }
    status = held_->Append(buffer_);
  }
  buffer_.clear();
  return status;
}

absl::Status RevocableFile::Commit() {
  absl::Status status;
  if (held_ != nullptr && held_->bytes() > 0) {
    std::string part;
    for (uint64_t offset = 0; offset < held_->bytes() && status.ok(); offset += part.size()) {
      part.resize(std::min<uint64_t>(kBufferBytes, held_->bytes() - offset));
      status = held_->Read(offset, part.size(), part.data());
      if (status.ok()) status = Write(part);
    }
    if (status.ok()) status = held_->Clear();
  }
  if (status.ok()) status = Write(buffer_);
  buffer_.clear();
  if (can_truncate_) committed_ = static_cast<uint64_t>(lseek(descriptor_, 0, SEEK_CUR));
  return status;
}

absl::Status RevocableFile::Discard() {
  buffer_.clear();
  if (held_ != nullptr) return held_->Clear();
  if (!can_truncate_) return absl::OkStatus();
  const auto end = static_cast<off_t>(committed_);
  if (ftruncate(descriptor_, end) == 0 && lseek(descriptor_, end, SEEK_SET) == end) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("cannot take back what was written to ", name_, ": ", std::strerror(errno)));
}

absl::Status RevocableFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const std::string what = absl::StrCat("cannot write ", name_, ": ", std::strerror(errno));
      return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
                 ? absl::ResourceExhaustedError(what)
                 : absl::InternalError(what);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

namespace {

std::string_view NameOf(Side side) { return side == Side::kClient ? "local" : "remote"; }

bool IsUtf8(std::string_view bytes) {
  uint32_t code = 0;
  for (size_t i = 0, more = 1; i < bytes.size(); i += more, more = 1) {
    const bool is_ascii = (bytes[i] & 0x80) == 0;
    if (!is_ascii && (more = FirstUtf8(bytes.substr(i), &code)) == 0) return false;
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
  if (format_ == Format::kTsv) {
    if (shows_sides_) line_.append(NameOf(from)).push_back('\t');
    AppendEscapedText(row.key, &line_);
    line_.push_back('\t');
    AppendEscapedText(row.value, &line_);
    line_.push_back('\n');
  } else {
    line_.append("{");
    if (shows_sides_) AppendJsonMember("side", NameOf(from), &line_);
    AppendJsonMember("key", row.key, &line_);
    AppendJsonMember("value", row.value, &line_);
    line_.append("}\n");
  }
  return file_->Append(line_);
}

}  // namespace rocksieve::join
