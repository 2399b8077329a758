#include "lib/join/text/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {
namespace {

constexpr size_t kReadBytes = 256 << 10;

}  // namespace

LineReader::LineReader(int descriptor, std::string name, uint64_t offset)
    : descriptor_(descriptor), name_(std::move(name)), offset_(offset), read_offset_(offset) {}

bool LineReader::Next(std::string_view* line) {
  size_t searched = begin_;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      *line = std::string_view(buffer_).substr(begin_, end - begin_);
      offset_ += line->size() + 1;
      begin_ = end + 1;
      return true;
    }
    searched = buffer_.size() - begin_;  // Fill() moves what is left to the front
    if (!Fill()) break;
  }
  if (!status_.ok() || begin_ == buffer_.size()) return false;
  *line = std::string_view(buffer_).substr(begin_);
  offset_ += line->size();
  begin_ = buffer_.size();
  return true;
}

bool LineReader::Fill() {
  if (ended_) return false;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t before = buffer_.size();
  // Long lines: at least as much again.
  buffer_.resize(before + std::max(kReadBytes, before));
  const size_t want = buffer_.size() - before;
  ssize_t got = 0;
  do {
    got = pread(descriptor_, buffer_.data() + before, want, static_cast<off_t>(read_offset_));
    if (got < 0 && errno == ESPIPE) got = read(descriptor_, buffer_.data() + before, want);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    status_ = absl::DataLossError(absl::StrCat("cannot read ", name_, ": ", std::strerror(errno)));
  }
  ended_ = got <= 0;
  buffer_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  read_offset_ += static_cast<uint64_t>(std::max<ssize_t>(got, 0));
  return !ended_;
}

}  // namespace rocksieve::join
