#include "join/output_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rocksieve::tools {
namespace {

constexpr size_t kCopyBytes = 256 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Open(const std::string& path) {
  std::unique_ptr<OutputFile> output(new OutputFile(path));
  if (path.empty() || path == "-") {
    const char* const directory = std::getenv("TMPDIR");
    std::string name = absl::StrCat(directory == nullptr ? "/tmp" : directory, "/rocksieve-XXXXXX");
    const int descriptor = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) {
      unlink(name.c_str());
      output->file_ = fdopen(descriptor, "w+b");
    }
  } else {
    output->temporary_ = absl::StrCat(path, ".", getpid(), ".tmp");
    output->file_ = std::fopen(output->temporary_.c_str(), "w+bxe");
  }
  if (output->file_ == nullptr) {
    output->temporary_.clear();
    return output->Fail("create");
  }
  return output;
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status OutputFile::Fail(const char* doing) const {
  const std::string name = path_.empty() ? "a temporary file (is TMPDIR right?)"
                           : is_standard_output() ? "the standard output" : path_;
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", doing, " ", name));
}

absl::Status OutputFile::Append(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return Fail("write to");
  size_ += bytes.size();
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (is_standard_output()) return PassOn();
  committed_ = size_;
  return absl::OkStatus();
}

absl::Status OutputFile::PassOn() {
  if (size_ == 0) return absl::OkStatus();
  if (std::fflush(file_) != 0) return Fail("write to");
  std::rewind(file_);
  const auto buffer = std::make_unique<char[]>(kCopyBytes);
  for (;;) {
    const size_t bytes = std::fread(buffer.get(), 1, kCopyBytes, file_);
    if (bytes == 0) break;
    passed_on_ = true;
    if (std::fwrite(buffer.get(), 1, bytes, stdout) != bytes) return Fail("write to");
  }
  if (std::ferror(file_) != 0) return Fail("read again what was meant for");
  if (std::fflush(stdout) != 0) return Fail("write to");
  return CutTo(0);
}

absl::Status OutputFile::CutTo(uint64_t size) {
  if (size_ == size) return absl::OkStatus();
  if (std::fflush(file_) != 0 || ftruncate(fileno(file_), static_cast<off_t>(size)) != 0 ||
      std::fseek(file_, static_cast<long>(size), SEEK_SET) != 0) {
    return Fail("cut off the last rows of");
  }
  size_ = size;
  return absl::OkStatus();
}

absl::Status OutputFile::Discard() { return CutTo(committed_); }

absl::Status OutputFile::Restart() {
  if (passed_on_) {
    return absl::FailedPreconditionError(
        "they went to the standard output already: join again, or with --output=FILE");
  }
  committed_ = 0;
  return CutTo(0);
}

absl::Status OutputFile::Finish() {
  absl::Status status = Discard();
  if (!status.ok() || temporary_.empty()) return status;
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) return Fail("write to");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return Fail("give its name to");
  temporary_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::FILE*> OutputFile::Rewind() {
  const absl::Status status = Discard();
  if (!status.ok()) return status;
  if (std::fflush(file_) != 0) return Fail("write to");
  std::rewind(file_);
  return file_;
}

}  // namespace rocksieve::tools
