#include "lib/join/session/key_reader.h"

#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/rows/key_list.h"

namespace rocksieve::join {

SourceKeyReader::SourceKeyReader(Source* source, KeyInterval interval)
    : source_(source), interval_(std::move(interval)) {}

absl::Status SourceKeyReader::AppendKeys(const std::vector<uint32_t>& ordinals, uint64_t most_bytes,
                                         std::string* out) {
  KeyListWriter keys;
  OrdinalCursor cursor(source_, interval_);
  size_t added = 0;
  Row row;
  while (added < ordinals.size() && cursor.Next(&row)) {
    if (cursor.ordinal() != ordinals[added]) continue;
    keys.Add(row.key);
    added++;
    if (keys.compressed_bytes() > most_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the keys themselves would take more than the ", most_bytes,
          " bytes that a message may have: join with another strategy than \"keys\", with smaller "
          "ranges, or allow more on both sides"));
    }
  }
  if (!cursor.status().ok()) return cursor.status();
  if (added < ordinals.size()) return absl::DataLossError("the source lost keys since its scan");
  keys.Finish(out);
  return absl::OkStatus();
}

}  // namespace rocksieve::join
