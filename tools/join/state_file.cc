// SPDX-License-Identifier: Apache-2.0
#include "tools/join/state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr std::string_view kMagic = "rocksieve diff --resume, version ", kVersion = "1, ";
constexpr off_t kMostBytes = 64 << 20;
constexpr int kMostDepth = 6;                 // of the document
constexpr std::chrono::seconds kPatience(2);  // with one that was killed, and is not gone yet

Status StateFileError(const std::string& what) {
  return Status::InvalidArgument(what + ": " + std::strerror(errno));
}

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

bool ReadAll(int descriptor, size_t bytes, std::string* text) {
  text->resize(bytes);
  for (size_t done = 0; done < bytes;) {
    const ssize_t got =
        pread(descriptor, text->data() + done, bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
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

StateFile::~StateFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

// Whoever has it replaces it: the lock counts if it is on the file that has the name.
Status StateFile::Hold() {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0) return StateFileError("cannot open " + path_);
    struct stat here {
    }, there{};
    if (fstat(descriptor_, &here) != 0) return StateFileError("cannot open " + path_);
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
    close(std::exchange(descriptor_, -1));
    if (!locked) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status StateFile::Open(Json* document) {
  *document = nullptr;
  const Status held = Hold();
  if (!held.ok()) return held;
  struct stat there {};
  if (fstat(descriptor_, &there) != 0) return StateFileError("cannot read " + path_);
  if (there.st_size == 0) return Status::OK();
  std::string text;
  if (there.st_size <= kMostBytes &&
      !ReadAll(descriptor_, static_cast<size_t>(there.st_size), &text)) {
    return StateFileError("cannot read " + path_);
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
  if (file < 0) return StateFileError("cannot write " + temporary);
  struct stat old {};
  if (fstat(descriptor_, &old) == 0) fchmod(file, old.st_mode & 07777);
  flock(file, LOCK_EX | LOCK_NB);
  if (!WriteAll(file, text) || fsync(file) != 0 ||
      std::rename(temporary.c_str(), path_.c_str()) != 0) {
    const Status status = StateFileError("cannot write " + path_);
    close(file);
    unlink(temporary.c_str());
    return status;
  }
  close(descriptor_);
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
  return unlink(path_.c_str()) == 0 ? Status::OK() : StateFileError("cannot remove " + path_);
}

}  // namespace rocksieve::tools
