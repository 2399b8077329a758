// SPDX-License-Identifier: Apache-2.0
#include "tools/join/diff_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;
namespace fs = std::filesystem;

constexpr char kUnfinished[] = ".unfinished";

Status PlaceOf(const std::string& path, OutputPlace* place) {
  std::string error;
  return FindOutputPlace(path, place, &error) ? Status::OK() : Status::InvalidArgument(error);
}

Status SystemError(const std::string& what) {
  return Status::InvalidArgument(what + ": " + std::strerror(errno));
}

}  // namespace

RowOutput::~RowOutput() {
  if (stream_ != nullptr && stream_ != stdout) std::fclose(stream_);
}

Status RowOutput::OpenStream(const std::string& path) {
  if (path == "-") return Status::OK();
  stream_ = std::fopen(path.c_str(), "w");
  return stream_ != nullptr ? Status::OK() : Status::InvalidArgument("cannot open " + path);
}

Status RowOutput::Open(const std::string& path) {
  OutputPlace place;
  const Status status = PlaceOf(path, &place);
  if (!status.ok() || place.is_stream) return status.ok() ? OpenStream(path) : status;
  std::string message;
  file_ = PendingFile::Create(place.path, &message);
  return file_ == nullptr ? Status::InvalidArgument(message) : Status::OK();
}

Status RowOutput::CheckNew(const std::string& path) {
  OutputPlace place;
  const Status status = PlaceOf(path, &place);
  if (!status.ok() || place.is_stream) return status;
  std::error_code error;
  const std::string unfinished = place.path + kUnfinished;
  if (!fs::exists(fs::symlink_status(unfinished, error))) return Status::OK();
  return Status::InvalidArgument(unfinished +
                                 " is there already, of a comparison that was not finished: name "
                                 "its file with --resume, or remove it");
}

Status RowOutput::Continue(const std::string& path, uint64_t bytes, bool complete) {
  bytes_ = bytes;
  OutputPlace place;
  const Status status = PlaceOf(path, &place);
  if (!status.ok() || place.is_stream) return status.ok() ? OpenStream(path) : status;
  path_ = place.path;
  const std::string unfinished = path_ + kUnfinished;
  struct stat there {};
  if (complete && lstat(unfinished.c_str(), &there) != 0 && errno == ENOENT &&
      stat(path_.c_str(), &there) == 0 && static_cast<uint64_t>(there.st_size) == bytes) {
    complete_ = true;  // it had its name already when that process was killed
    stream_ = nullptr;
    return Status::OK();
  }
  return OpenUnfinished(unfinished, bytes, bytes == 0 && !complete ? O_CREAT : 0, 0666);
}

Status RowOutput::Keep(const std::string& path, uint64_t bytes) {
  return OpenUnfinished(path, bytes, O_CREAT, 0600);
}

Status RowOutput::OpenUnfinished(const std::string& path, uint64_t bytes, int create, mode_t mode) {
  bytes_ = bytes;
  unfinished_path_ = path;
  const int file = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, mode);
  struct stat there {};
  stream_ = file < 0 ? nullptr : fdopen(file, "w");
  if (stream_ == nullptr || fstat(file, &there) != 0) {
    return SystemError("cannot go on with " + path);
  }
  if (!S_ISREG(there.st_mode) || static_cast<uint64_t>(there.st_size) < bytes) {
    return Status::InvalidArgument(path + " does not have the " + std::to_string(bytes) +
                                   " bytes of rows any more that were found so far: begin anew "
                                   "with another file for --resume");
  }
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0 || std::fseek(stream_, 0, SEEK_END) != 0) {
    return SystemError("cannot go on with " + path);
  }
  return Status::OK();
}

Status RowOutput::Failed() const {
  if (!unfinished_path_.empty()) return SystemError("cannot write " + unfinished_path_);
  return Status::InvalidArgument("cannot write to the standard output, or a pipe");
}

Status RowOutput::Write(const std::string& line) {
  bytes_ += line.size();
  if (file_ != nullptr) {
    std::string error;
    return file_->Append(line, &error) ? Status::OK() : Status::InvalidArgument(error);
  }
  if (stream_ == nullptr) return Status::InvalidArgument(path_ + " was complete already");
  return std::fwrite(line.data(), 1, line.size(), stream_) == line.size() ? Status::OK() : Failed();
}

Status RowOutput::Sync() {
  if (stream_ == nullptr) return Status::OK();
  if (std::fflush(stream_) != 0) return Failed();
  if (unfinished_path_.empty()) return Status::OK();
  return fdatasync(fileno(stream_)) == 0 ? Status::OK() : Failed();
}

Status RowOutput::Finish(bool replaces) {
  std::string error;
  if (file_ != nullptr) {
    return file_->Publish(&error, replaces) == 0 ? Status::OK() : Status::InvalidArgument(error);
  }
  const Status status = Sync();
  if (!status.ok() || unfinished_path_.empty() || complete_) return status;
  struct stat old {};
  if (stat(path_.c_str(), &old) == 0) fchmod(fileno(stream_), old.st_mode & 07777);
  if (std::rename(unfinished_path_.c_str(), path_.c_str()) != 0) {
    return SystemError("cannot give the rows their name, " + path_);
  }
  complete_ = true;
  return Status::OK();
}

namespace {

using rocksdb::Status;

constexpr std::string_view kMagic = "rocksieve diff --resume, version ", kVersion = "1, ";
constexpr uintmax_t kMostBytes = 64 << 20;
constexpr int kMostDepth = 6;                 // of the document
constexpr std::chrono::seconds kPatience(2);  // with one that was killed, and is not gone yet

// FNV-1a: against damage, not against malice.
uint64_t HashOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::string ToUtf8(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    if (number >= 0x80) text.push_back(static_cast<char>(0xC0 | number >> 6));
    text.push_back(static_cast<char>(number >= 0x80 ? 0x80 | (number & 0x3F) : number));
  }
  return text;
}

// Nothing if a character stands for no byte.
std::optional<std::string> FromUtf8(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i++) {
    const auto number = static_cast<unsigned char>(text[i]);
    if (number < 0x80) {
      bytes.push_back(text[i]);
    } else if ((number != 0xC2 && number != 0xC3) || i + 1 == text.size()) {
      return std::nullopt;
    } else {
      bytes.push_back(static_cast<char>((number & 0x03) << 6 | (text[++i] & 0x3F)));
    }
  }
  return bytes;
}

// Names of members are ours, and ASCII.
Json WithTexts(const Json& json) {
  if (json.is_string()) return ToUtf8(json.get<std::string>());
  Json texts = json;
  if (json.is_structured()) {
    for (auto& item : texts.items()) item.value() = WithTexts(item.value());
  }
  return texts;
}

bool TakeBytes(Json* json) {
  if (json->is_string()) {
    std::optional<std::string> bytes = FromUtf8(json->get<std::string>());
    if (bytes) *json = *std::move(bytes);
    return bytes.has_value();
  }
  if (!json->is_structured()) return true;
  for (auto& item : json->items()) {
    if (!TakeBytes(&item.value())) return false;
  }
  return true;
}

// Null if it is none.
Json Parsed(std::string_view text) {
  bool deep = false;
  Json json = Json::parse(
      text,
      [&deep](int depth, Json::parse_event_t, const Json&) {
        deep |= depth > kMostDepth;
        return !deep;
      },
      /*allow_exceptions=*/false);
  return deep || json.is_discarded() || !json.is_object() || !TakeBytes(&json) ? Json() : json;
}

bool WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

void StateFile::Release() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

// Whoever has it replaces it: the lock counts if it is on the file that has the name.
Status StateFile::Hold() {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0) return SystemError("cannot open " + path_);
    struct stat here {
    }, there{};
    if (fstat(descriptor_, &here) != 0) return SystemError("cannot open " + path_);
    if (!S_ISREG(here.st_mode)) {
      return Status::InvalidArgument(path_ + " is no regular file: name another one for --resume");
    }
    const bool locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (!locked && std::chrono::steady_clock::now() > give_up) {
      return Status::InvalidArgument("another process is at the comparison of " + path_ +
                                     ": wait for it, or name another file");
    }
    if (locked && stat(path_.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
        here.st_dev == there.st_dev) {
      return Status::OK();
    }
    Release();
    if (!locked) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status StateFile::Open(Json* document) {
  *document = nullptr;
  const Status held = Hold();
  if (!held.ok()) return held;
  std::string text;
  std::error_code error;
  if (std::filesystem::file_size(path_, error) <= kMostBytes && !error) {
    std::ifstream file(path_, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) return SystemError("cannot read " + path_);
    if (text.empty()) return Status::OK();
  }
  std::string_view rest = text;
  const auto take = [&rest](std::string_view words) {
    const bool there_is = rest.substr(0, words.size()) == words;
    if (there_is) rest.remove_prefix(words.size());
    return there_is;
  };
  if (!take(kMagic)) {
    return Status::InvalidArgument(
        path_ + " is not what --resume writes, and is left as it is: name another file");
  }
  if (!take(kVersion)) {
    return Status::InvalidArgument(path_ +
                                   " is of another version of rocksieve: go on with that, or begin "
                                   "anew with another file");
  }
  const size_t line = rest.find('\n');
  if (line != std::string_view::npos &&
      rest.substr(0, line) == HexNumber(HashOf(rest.substr(line + 1)))) {
    *document = Parsed(rest.substr(line + 1));
  }
  return document->is_null() ? Status::InvalidArgument(path_ +
                                                       " is damaged, and is left as it is: begin "
                                                       "anew with another file")
                             : Status::OK();
}

Status StateFile::Write(const Json& document) {
  const std::string json = WithTexts(document).dump() + "\n";
  const std::string text =
      std::string(kMagic) + std::string(kVersion) + HexNumber(HashOf(json)) + "\n" + json;
  const std::string temporary = path_ + ".tmp";
  unlink(temporary.c_str());  // of a process that was killed
  const int file =
      open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return SystemError("cannot write " + temporary);
  struct stat old {};
  if (fstat(descriptor_, &old) == 0) fchmod(file, old.st_mode & 07777);
  flock(file, LOCK_EX | LOCK_NB);
  if (!WriteAll(file, text) || fsync(file) != 0 ||
      std::rename(temporary.c_str(), path_.c_str()) != 0) {
    const Status status = SystemError("cannot write " + path_);
    close(file);
    unlink(temporary.c_str());
    return status;
  }
  Release();
  descriptor_ = file;
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int above = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (above >= 0) {
    fsync(above);  // else a power failure takes the earlier document back, which is true as well
    close(above);
  }
  return Status::OK();
}

Status StateFile::Remove() {
  unlink((path_ + ".tmp").c_str());
  return unlink(path_.c_str()) == 0 ? Status::OK() : SystemError("cannot remove " + path_);
}

}  // namespace rocksieve::tools
