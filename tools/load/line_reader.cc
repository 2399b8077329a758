#include "tools/load/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "support/interrupt.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr size_t kReadBytes = 1 << 20;
constexpr int kLookForInterruptsMillis = 200;

Status Unreadable(const std::string& name) {
  return Status::InvalidArgument("cannot read " + name + ": " + std::strerror(errno));
}

}  // namespace

LineReader::LineReader(std::string source)
    : source_(std::move(source)), name_(source_ == "-" ? "the standard input" : source_) {}

LineReader::~LineReader() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

Status LineReader::Open() {
  descriptor_ = source_ == "-" ? STDIN_FILENO : open(source_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat attributes;
  if (descriptor_ < 0 || fstat(descriptor_, &attributes) != 0) return Unreadable(name_);
  if (S_ISDIR(attributes.st_mode)) {
    errno = EISDIR;
    return Unreadable(name_);
  }
  if (S_ISREG(attributes.st_mode)) total_bytes_ = static_cast<uint64_t>(attributes.st_size);
  return Status::OK();
}

// Appends what there is to the buffer, or notes the end.
Status LineReader::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  while (true) {
    // A read() alone would go on waiting after Ctrl-C.
    pollfd input = {descriptor_, POLLIN, 0};
    const int ready = poll(&input, 1, kLookForInterruptsMillis);
    if (InterruptSignal() != 0) return Status::Aborted("interrupted");
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t bytes = read(descriptor_, buffer_.data() + before, kReadBytes);
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (bytes < 0) return Unreadable(name_);
    buffer_.resize(before + static_cast<size_t>(bytes));
    at_end_ = bytes == 0;
    return Status::OK();
  }
}

Status LineReader::Next(std::string_view* line, bool* done) {
  *done = false;
  size_t searched = 0;  // of the line, without a newline in it
  while (true) {
    const size_t newline = buffer_.find('\n', begin_ + searched);
    const bool found = newline != std::string::npos;
    const size_t end = found ? newline : buffer_.size();
    searched = end - begin_;
    if (searched > kMaxLineBytes) {
      return Status::InvalidArgument(
          name_ + ", line " + std::to_string(line_number_ + 1) + ": longer than " +
          Thousands(kMaxLineBytes) +
          " bytes. Are its lines separated by newlines? Else take this one out.");
    }
    if (found || (at_end_ && searched > 0)) {
      *line = std::string_view(buffer_).substr(begin_, searched);
      const size_t consumed = searched + (found ? 1 : 0);
      begin_ += consumed;
      bytes_read_ += consumed;
      line_number_++;
      return Status::OK();
    }
    if (at_end_) {
      *done = true;
      return Status::OK();
    }
    const Status status = Fill();
    if (!status.ok()) return status;
  }
}

}  // namespace rocksieve::tools
