// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/status.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "support/text.h"

namespace rocksieve::join {
namespace {

absl::Status OutOfMemory() {
  return absl::ResourceExhaustedError(
      "the memory of this machine, or what this process may have of it, is used up: allow more, or "
      "join fewer keys at once");
}

constexpr char kCutShort[] = "...";
constexpr char kADirectory[] = "a directory";
constexpr size_t kShortestKnown = 3;  // "." and "db" are in too many words

bool IsPrintable(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;  // C0, DEL, C1
  if (code == 0x2028 || code == 0x2029) return false;              // line, paragraph
  if (code == 0x200e || code == 0x200f || code == 0x061c) return false;
  return !(code >= 0x202a && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069);
}

bool MayPrecedePath(std::string_view before) {
  if (before.empty()) return true;
  const char last = before.back();
  if (std::string_view(" \t\n'\"`:=,;<>[{|").find(last) != std::string_view::npos) return true;
  // "(/var/db" is a path; "value.json(/id)" is not.
  return last == '(' && (before.size() == 1 ||
                         !std::isalnum(static_cast<unsigned char>(before[before.size() - 2])));
}

// 0 if there is none.
size_t PathBytes(std::string_view text) {
  const bool begins =
      text.substr(0, 1) == "/" || text.substr(0, 2) == "./" || text.substr(0, 3) == "../";
  if (!begins) return 0;
  return std::min(text.find_first_of(" \t\n'\"`:,;<>()[]{}|"), text.size());
}

// A name without a slash may be in words that are no path: "data" in "database".
std::string WithoutKnown(std::string_view text, std::string_view directory) {
  const bool is_word = directory.find('/') == std::string_view::npos;
  const auto goes_on = [&](size_t i) {
    return is_word && i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]));
  };
  std::string rest;
  size_t begin = 0;
  for (size_t at; (at = text.find(directory, begin)) != std::string_view::npos;) {
    const size_t end = at + directory.size();
    rest.append(text.substr(begin, at - begin));
    begin = end;
    if ((at > 0 && goes_on(at - 1)) || goes_on(end)) {
      rest.append(directory);
    } else if (text.substr(end, 1) == "/") {
      begin++;
    } else {
      rest.append(kADirectory);
    }
  }
  return rest.append(text.substr(begin));
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // gRPC carries it in a header, which is limited to 8 KB: thrice as long if it is not ASCII.
  const absl::Status printable = Printable(status);
  return {static_cast<grpc::StatusCode>(printable.code()), std::string(printable.message())};
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = Printable(status.error_message());
  return {static_cast<absl::StatusCode>(status.error_code()),
          message.empty() ? "the call ended without a reason" : message};
}

absl::Status NamingPeer(std::string_view peer, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(),
          absl::StrCat(absl::string_view(peer.data(), peer.size()), ": ", status.message())};
}

absl::Status Guarded(absl::FunctionRef<absl::Status()> work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::length_error&) {  // more than any vector or string can have
    return OutOfMemory();
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return absl::ResourceExhaustedError(
          "the system has no more threads for this process: allow more, or fewer sessions");
    }
    return absl::InternalError(absl::StrCat("an unexpected error: ", error.what()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("an unexpected error: ", error.what()));
  } catch (...) {
    return absl::InternalError("an unexpected error, of a kind that says nothing about itself");
  }
}

std::string Printable(std::string_view text, size_t most_bytes) {
  std::string printable;
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t bytes = FirstUtf8(text, &code);
    const std::string_view next = text.substr(0, std::max<size_t>(bytes, 1));
    std::string piece;
    if (bytes > 0 && IsPrintable(code)) {
      piece = next;
    } else {
      for (const char c : next) absl::StrAppendFormat(&piece, "\\x%02x", static_cast<uint8_t>(c));
    }
    if (printable.size() + piece.size() > most_bytes) return printable + kCutShort;
    printable += piece;
    text.remove_prefix(next.size());
  }
  return printable;
}

absl::Status Printable(const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), Printable({status.message().data(), status.message().size()})};
}

std::string WithoutDirectories(std::string_view text, const std::vector<std::string>& known) {
  std::string rest(text);
  for (const std::string& directory : known) {
    if (directory.size() >= kShortestKnown) rest = WithoutKnown(rest, directory);
  }
  const std::string_view all(rest);
  std::string clean;
  size_t i = 0;
  while (i < all.size()) {
    const size_t bytes = MayPrecedePath(all.substr(0, i)) ? PathBytes(all.substr(i)) : 0;
    if (bytes == 0) {
      // Our own sentences stand on lines; whoever is told them escapes what breaks a line.
      if (all[i] == '\n') {
        clean += clean.empty() || clean.back() == '.' || clean.back() == ':' ? " " : ". ";
      } else {
        clean += all[i];
      }
      i++;
      continue;
    }
    std::string_view path = all.substr(i, bytes);
    i += bytes;
    while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    clean += name.empty() || name == "." || name == ".." ? std::string_view(kADirectory) : name;
  }
  return clean;
}

absl::Status WithoutDirectories(const absl::Status& status, const std::vector<std::string>& known) {
  if (status.ok()) return status;
  return {status.code(),
          WithoutDirectories({status.message().data(), status.message().size()}, known)};
}

}  // namespace rocksieve::join
