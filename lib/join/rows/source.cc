// SPDX-License-Identifier: Apache-2.0
#include "lib/join/rows/source.h"

#include <string_view>

#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

namespace rocksieve::join {
namespace {

constexpr size_t kMostShownBytes = 48;
constexpr char kBefore[] = " (in the range ";

std::string Quoted(std::string_view key) {
  const std::string_view shown = key.substr(0, kMostShownBytes);
  return absl::StrCat("\"", absl::CHexEscape(absl::string_view(shown.data(), shown.size())),
                      shown.size() < key.size() ? "...\"" : "\"");
}

}  // namespace

std::string TextOf(const KeyInterval& interval) {
  if (interval.end && interval.end->empty()) return "of rows with a NULL key";
  if (!interval.end) {
    return interval.begin.empty() ? "of all keys" : absl::StrCat("from ", Quoted(interval.begin));
  }
  return interval.begin.empty()
             ? absl::StrCat("up to ", Quoted(*interval.end))
             : absl::StrCat("from ", Quoted(interval.begin), " up to ", Quoted(*interval.end));
}

absl::Status Naming(const KeyInterval& interval, const absl::Status& status) {
  // What the user wanted needs no place; what has one keeps it.
  if (status.ok() || absl::IsCancelled(status) || absl::StrContains(status.message(), kBefore)) {
    return status;
  }
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), kBefore, TextOf(interval), ")"));
}

}  // namespace rocksieve::join
