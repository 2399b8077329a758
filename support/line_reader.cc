// SPDX-License-Identifier: Apache-2.0
#include "support/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "support/progress.h"
#include "support/text.h"

namespace rocksieve {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr int kLookForInterruptsMillis = 200;

}  // namespace

LineReader::LineReader(const std::string& source)
    : name_(source == "-" ? "the standard input" : source), is_own_(true) {
  descriptor_ = source == "-" ? STDIN_FILENO : open(source.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat attributes = {};
  if (descriptor_ < 0 || fstat(descriptor_, &attributes) != 0) {
    Fail(errno);
  } else if (S_ISDIR(attributes.st_mode)) {
    Fail(EISDIR);
  } else if (S_ISREG(attributes.st_mode)) {
    total_bytes_ = static_cast<uint64_t>(attributes.st_size);
  }
}

LineReader::LineReader(int descriptor, std::string name, uint64_t offset)
    : name_(std::move(name)),
      is_own_(false),
      descriptor_(descriptor),
      offset_(offset),
      read_offset_(offset) {}

LineReader::~LineReader() {
  if (is_own_ && descriptor_ > STDIN_FILENO) close(descriptor_);
}

bool LineReader::Next(std::string_view* line) {
  size_t searched = 0;  // of the line, without a newline in it
  while (error_.empty()) {
    const size_t newline = buffer_.find('\n', begin_ + searched);
    const bool found = newline != std::string::npos;
    searched = (found ? newline : buffer_.size()) - begin_;
    if (searched > longest_line_bytes_) {
      error_ = name_ + ", line " + std::to_string(line_number_ + 1) + ": longer than " +
               Thousands(longest_line_bytes_) +
               " bytes. Are its lines separated by newlines? Else take this one out.";
    } else if (found || (ended_ && searched > 0)) {
      *line = std::string_view(buffer_).substr(begin_, searched);
      const size_t consumed = searched + (found ? 1 : 0);
      begin_ += consumed;
      offset_ += consumed;
      line_number_++;
      return true;
    } else if (ended_ || !Fill()) {
      return false;
    }
  }
  return false;
}

bool LineReader::Fail(int error_number) {
  error_ = "cannot read " + name_ + ": " + std::strerror(error_number);
  return false;
}

long LineReader::Read(char* to, size_t bytes) {
  if (is_own_) return read(descriptor_, to, bytes);
  const ssize_t got = pread(descriptor_, to, bytes, static_cast<off_t>(read_offset_));
  return got < 0 && errno == ESPIPE ? read(descriptor_, to, bytes) : got;
}

// Appends what there is to the buffer, or notes the end.
bool LineReader::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t before = buffer_.size();
  const size_t want = std::max(kReadBytes, before);  // long lines: at least as much again
  buffer_.resize(before + want);
  while (true) {
    // A read() alone would go on waiting after Ctrl-C.
    pollfd input = {descriptor_, POLLIN, 0};
    const int ready = poll(&input, 1, kLookForInterruptsMillis);
    interrupted_ = InterruptSignal() != 0;
    if (interrupted_) {
      error_ = "interrupted";
      return false;
    }
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const long bytes = Read(buffer_.data() + before, want);
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (bytes < 0) return Fail(errno);
    buffer_.resize(before + static_cast<size_t>(bytes));
    read_offset_ += static_cast<uint64_t>(bytes);
    ended_ = bytes == 0;
    return true;
  }
}

}  // namespace rocksieve
