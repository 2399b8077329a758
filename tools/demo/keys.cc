#include "tools/demo/keys.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

#include <rocksdb/env.h>

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr uint64_t kSeed = 20260101;

Status ReadStandardInput(std::string* text) {
  char buffer[1 << 16];
  for (size_t bytes; (bytes = std::fread(buffer, 1, sizeof(buffer), stdin)) > 0;) {
    text->append(buffer, bytes);
  }
  if (std::ferror(stdin) == 0) return Status::OK();
  return Status::InvalidArgument("cannot read the standard input: " +
                                 std::string(std::strerror(errno)));
}

Status ReadText(const std::string& source, std::string* text) {
  if (source == "-") return ReadStandardInput(text);
  const Status status = rocksdb::ReadFileToString(rocksdb::Env::Default(), source, text);
  if (status.ok()) return status;
  return Status::InvalidArgument(
      "cannot read the keys: " + status.ToString() +
      "\nName a file with one key per line with --keys=FILE; the words that are the default come "
      "with:\n  apt-get install wamerican-insane");
}

}  // namespace

Status LoadKeys(const std::string& source, Keys* keys) {
  Status status = ReadText(source, &keys->text);
  if (!status.ok()) return status;

  std::vector<std::string_view> lines;
  std::string_view rest = keys->text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    keys->lines++;
    if (end > 0) lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (lines.empty()) {
    return Status::InvalidArgument((source == "-" ? "the standard input" : source) +
                                   " holds no keys: it has no line that is not empty");
  }

  // Sorted first, so that the split depends on the set of keys alone.
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  std::shuffle(lines.begin(), lines.end(), std::mt19937_64(kSeed));
  const auto middle = lines.begin() + static_cast<ptrdiff_t>((lines.size() + 1) / 2);
  keys->present.assign(lines.begin(), middle);
  keys->missing.assign(middle, lines.end());
  return Status::OK();
}

}  // namespace rocksieve::tools
