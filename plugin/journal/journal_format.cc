// SPDX-License-Identifier: Apache-2.0
#include "plugin/journal/journal_format.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "lib/hash/key_hash.h"

namespace rocksieve {
namespace {

constexpr size_t kMostSessionBytes = 64, kChecksumDigits = 16;
constexpr std::string_view kIn = "in", kOut = "out";

std::string ChecksumOf(std::string_view text) {
  char digits[kChecksumDigits + 1];
  std::snprintf(digits, sizeof(digits), "%016" PRIx64, HashKey(text, /*salt=*/0));
  return digits;
}

bool IsLetterOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

std::string JournalPrefixOf(std::string_view column_family) {
  return ChecksumOf(column_family) + "-";
}

std::string JournalNameOf(std::string_view column_family, const std::string& session,
                          uint64_t number) {
  const bool is_a_name = !session.empty() && session.size() <= kMostSessionBytes &&
                         std::all_of(session.begin(), session.end(), IsLetterOrDigit);
  if (!is_a_name || number == 0) return "";
  return JournalPrefixOf(column_family) + session + "-" + std::to_string(number);
}

std::string JournalLineOf(const JournalJob& job) {
  std::string text = job.options_file;
  text += " in";
  for (const std::string& name : job.inputs) text += " " + name;
  text += " out";
  for (const std::string& name : job.outputs) text += " " + name;
  return ChecksumOf(text) + " " + text + "\n";
}

bool ParseJournalLine(std::string_view line, JournalJob* job) {
  if (line.size() <= kChecksumDigits || line[kChecksumDigits] != ' ' ||
      ChecksumOf(line.substr(kChecksumDigits + 1)) != line.substr(0, kChecksumDigits)) {
    return false;
  }
  *job = JournalJob();
  std::vector<std::string>* names = nullptr;
  for (size_t at = kChecksumDigits + 1; at <= line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    at = end + 1;
    if (word == kIn) {
      names = &job->inputs;
    } else if (word == kOut) {
      names = &job->outputs;
    } else if (names != nullptr) {
      names->emplace_back(word);
    } else {
      job->options_file = word;
    }
  }
  return names == &job->outputs;
}

}  // namespace rocksieve
