#include "plugin/tables/table_properties.h"

#include <map>
#include <string>

#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

namespace rocksieve {
namespace {

using Names = rocksdb::TablePropertiesNames;
using Texts = std::map<std::string, std::string, std::less<>>;

uint64_t Number(const Texts& texts, const std::string& name) {
  const auto found = texts.find(name);
  if (found == texts.end()) return 0;
  std::string_view bytes = found->second;
  uint64_t number = 0;
  return TakeVarint(&bytes, &number) ? number : 0;
}

// RocksDB writes "nullptr" for what is not there, earlier releases an empty string.
std::string Text(const Texts& texts, const std::string& name) {
  const auto found = texts.find(name);
  return found == texts.end() || found->second == "nullptr" ? "" : found->second;
}

bool Feature(const Texts& texts, const std::string& name, bool if_unsaid) {
  const auto found = texts.find(name);
  return found == texts.end() ? if_unsaid : found->second == "1";
}

}  // namespace

rocksdb::Status ParseProperties(std::string_view block, TableProperties* properties) {
  Texts texts;
  const rocksdb::Status status =
      ForEachEntry(block, [&](std::string_view key, std::string_view value) {
        texts.emplace(key, value);
        return true;
      });
  if (!status.ok()) return status;
  properties->entries = Number(texts, Names::kNumEntries);
  properties->deletions = Number(texts, Names::kDeletedKeys);
  properties->range_deletions = Number(texts, Names::kNumRangeDeletions);
  properties->filter_entries = Number(texts, Names::kNumFilterEntries);
  properties->filter_bytes = Number(texts, Names::kFilterSize);
  properties->data_blocks = Number(texts, Names::kNumDataBlocks);
  properties->data_bytes = Number(texts, Names::kDataSize);
  properties->index_bytes = Number(texts, Names::kIndexSize);
  properties->raw_key_bytes = Number(texts, Names::kRawKeySize);
  properties->raw_value_bytes = Number(texts, Names::kRawValueSize);
  properties->oldest_key_time = Number(texts, Names::kOldestKeyTime);
  properties->index_key_is_user_key = Number(texts, Names::kIndexKeyIsUserKey) != 0;
  properties->index_value_is_delta_encoded = Number(texts, Names::kIndexValueIsDeltaEncoded) != 0;
  // As IsFeatureSupported() in block_based_table_reader.cc: files that do not say have it.
  using Builtin = rocksdb::BlockBasedTablePropertyNames;
  properties->whole_keys_filtered = Feature(texts, Builtin::kWholeKeyFiltering, true);
  properties->prefixes_filtered = Feature(texts, Builtin::kPrefixFiltering, true);
  properties->column_family_name = Text(texts, Names::kColumnFamilyName);
  properties->filter_policy_name = Text(texts, Names::kFilterPolicy);
  properties->prefix_extractor_name = Text(texts, Names::kPrefixExtractorName);
  properties->comparator_name = Text(texts, Names::kComparator);
  properties->compression_name = Text(texts, Names::kCompression);
  return status;
}

}  // namespace rocksieve
