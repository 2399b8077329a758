#include "tools/demo/keys.h"

#include <algorithm>
#include <random>

#include "support/line_reader.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr uint64_t kSeed = 20260101;

}  // namespace

Status LoadKeys(const std::string& source, Keys* keys) {
  LineReader reader(source);
  std::vector<size_t> sizes;
  for (std::string_view line; reader.Next(&line);) {
    if (line.empty()) continue;
    sizes.push_back(line.size());
    keys->text += line;
  }
  keys->lines = reader.line_number();
  if (reader.interrupted()) return Status::Aborted(reader.error());
  if (!reader.error().empty()) {
    return Status::InvalidArgument(
        reader.error() +
        "\nName a file with one key per line with --keys=FILE; the words that are the default come "
        "with:\n  apt-get install wamerican-insane");
  }
  std::vector<std::string_view> lines;
  std::string_view rest = keys->text;
  for (const size_t size : sizes) {
    lines.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  if (lines.empty()) {
    return Status::InvalidArgument(reader.name() +
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
