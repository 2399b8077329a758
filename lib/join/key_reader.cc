#include "join/key_reader.h"

#include <utility>

#include "join/rows/key_list.h"

namespace rocksieve::join {

SourceKeyReader::SourceKeyReader(Source* source, KeyInterval interval)
    : source_(source), interval_(std::move(interval)) {}

absl::Status SourceKeyReader::AppendKeys(const std::vector<uint32_t>& ordinals, std::string* out) {
  KeyListWriter keys;
  OrdinalCursor cursor(source_, interval_);
  size_t added = 0;
  Row row;
  while (added < ordinals.size() && cursor.Next(&row)) {
    if (cursor.ordinal() != ordinals[added]) continue;
    keys.Add(row.key);
    added++;
  }
  if (!cursor.status().ok()) return cursor.status();
  if (added < ordinals.size()) return absl::DataLossError("the source lost keys since its scan");
  keys.Finish(out);
  return absl::OkStatus();
}

}  // namespace rocksieve::join
