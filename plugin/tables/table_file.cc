// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/table_file.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <rocksdb/metadata.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include "lib/format/coding.h"
#include "plugin/range/extractors.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr std::string_view kPropertiesName = "rocksdb.properties";
constexpr std::string_view kOldPropertiesName = "rocksdb.stats";

// In the order in which a later one would win; a file has one of them.
constexpr struct {
  std::string_view prefix;
  FilterLayout layout;
} kFilterNames[] = {{"filter.", FilterLayout::kObsolete},
                    {"fullfilter.", FilterLayout::kFull},
                    {"partitionedfilter.", FilterLayout::kPartitioned}};

// Not among TablePropertiesNames before RocksDB 8.5.
constexpr char kTimestampsPersisted[] = "rocksdb.user.defined.timestamps.persisted";

// ExternalSstFilePropertyNames::kVersion, which is not public.
constexpr char kExternalVersion[] = "rocksdb.external_sst_file.version";

// By rocksdb::CompressionType.
constexpr const char* kCompressions[] = {"NoCompression", "Snappy", "Zlib",   "BZip2",
                                         "LZ4",           "LZ4HC",  "Xpress", "ZSTD"};

Status About(const std::string& what, const Status& status) {
  const std::string text = what + ": " + MessageOf(status);
  return status.IsNotSupported() ? Status::NotSupported(text) : Status::Corruption(text);
}

using Names = rocksdb::TablePropertiesNames;
using Texts = std::map<std::string, std::string, std::less<>>;

uint64_t Number(const Texts& texts, const std::string& name, uint64_t if_unsaid = 0) {
  const auto found = texts.find(name);
  if (found == texts.end()) return if_unsaid;
  std::string_view bytes = found->second;
  uint64_t number = 0;
  return TakeVarint(&bytes, &number) ? number : if_unsaid;
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

Status TableFile::Open(rocksdb::Env* env, const std::string& path,
                       std::unique_ptr<TableFile>* result) {
  std::unique_ptr<TableFile> file(new TableFile);
  file->path_ = path;
  Status status = env->GetFileSize(path, &file->bytes_);
  if (status.ok()) status = env->NewRandomAccessFile(path, &file->file_, rocksdb::EnvOptions());
  if (status.ok()) status = ReadFooter(file->file_.get(), file->bytes_, &file->footer_);
  if (status.ok()) status = file->ReadMetaBlocks();
  if (status.ok()) *result = std::move(file);
  return status;
}

Status TableFile::ReadMetaBlocks() {
  std::string block;
  Status status =
      ReadBlock(file_.get(), bytes_, footer_, footer_.meta_index, /*check=*/true, &block);
  if (!status.ok()) return About("the index of meta blocks", status);
  BlockCursor entries(block);
  while (entries.Next()) {
    std::string_view value = entries.value();
    BlockPlace place;
    if (TakeVarint(&value, &place.offset) && TakeVarint(&value, &place.size)) {
      meta_blocks_.emplace(entries.key(), place);
    }
  }
  if (!entries.status().ok()) return About("the index of meta blocks", entries.status());

  auto found = meta_blocks_.find(kPropertiesName);
  if (found == meta_blocks_.end()) found = meta_blocks_.find(kOldPropertiesName);
  if (found == meta_blocks_.end()) return Status::Corruption("it has no properties block");
  // Unchecked: the sequence number of an ingested file is written into it afterwards. What is
  // damaged is not understood, or is a wrong number in a report.
  status = ReadBlock(file_.get(), bytes_, footer_, found->second, /*check=*/false, &block);
  if (status.ok()) status = ParseProperties(block, &properties_);
  return status.ok() ? status : About("the properties block", status);
}

const BlockPlace* TableFile::MetaBlock(std::string_view name) const {
  const auto found = meta_blocks_.find(name);
  return found == meta_blocks_.end() ? nullptr : &found->second;
}

Status TableFile::FindFilter(FilterPlaces* places) const {
  *places = FilterPlaces();
  for (const auto& [name, place] : meta_blocks_) {
    for (const auto& kind : kFilterNames) {
      if (name.compare(0, kind.prefix.size(), kind.prefix) != 0) continue;
      places->layout = kind.layout;
      places->stored_name = name.substr(kind.prefix.size());
      places->top = place;
    }
  }
  if (places->layout == FilterLayout::kFull) places->partitions = {{places->top, ""}};
  if (places->layout != FilterLayout::kPartitioned) return Status::OK();

  std::string index;
  Status status = ReadFilterBlock(places->top, &index);
  // Partitions stand side by side: an index that names more bytes than the file has names some of
  // them often, and whoever reads all partitions would need memory without end.
  uint64_t bytes_left = bytes_;
  const bool delta_values = properties_.index_value_is_delta_encoded;
  BlockCursor entries(index, /*has_value_sizes=*/!delta_values);
  BlockPlace place;
  while (status.ok() && entries.Next()) {
    std::string_view key = entries.key();
    if (!TakeIndexValue(delta_values, &entries, &place)) {
      status = UnreadableEntry();
    } else if (place.size > bytes_left) {
      status = Status::Corruption("it names more bytes than the file has");
    } else {
      bytes_left -= place.size;
      if (!properties_.index_key_is_user_key) {
        key.remove_suffix(std::min(key.size(), kSequenceAndTypeBytes));
      }
      places->partitions.push_back({place, std::string(key)});
    }
  }
  if (status.ok()) status = entries.status();
  return status.ok() ? status : About("the index of filter partitions", status);
}

Status TableFile::ReadFilterBlock(BlockPlace place, std::string* block) const {
  return ReadBlock(file_.get(), bytes_, footer_, place, /*check=*/true, block);
}

rocksdb::Status ParseProperties(std::string_view block, TableProperties* properties) {
  Texts texts;
  BlockCursor entries(block);
  while (entries.Next()) texts.emplace(entries.key(), entries.value());
  if (!entries.status().ok()) return entries.status();
  properties->entries = Number(texts, Names::kNumEntries);
  properties->deletions = Number(texts, Names::kDeletedKeys);
  properties->range_deletions = Number(texts, Names::kNumRangeDeletions);
  properties->merge_operands = Number(texts, Names::kMergeOperands);
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
  const auto index_type = texts.find(rocksdb::BlockBasedTablePropertyNames::kIndexType);
  if (index_type != texts.end() && index_type->second.size() == sizeof(uint32_t)) {
    properties->index_type = LoadLittleEndian32(index_type->second.data());
  }
  properties->is_external = texts.count(kExternalVersion) > 0;
  // As IsFeatureSupported() in block_based_table_reader.cc: files that do not say have it.
  using Builtin = rocksdb::BlockBasedTablePropertyNames;
  properties->whole_keys_filtered = Feature(texts, Builtin::kWholeKeyFiltering, true);
  properties->prefixes_filtered = Feature(texts, Builtin::kPrefixFiltering, true);
  properties->timestamps_persisted = Number(texts, kTimestampsPersisted, 1) != 0;
  properties->column_family_name = Text(texts, Names::kColumnFamilyName);
  properties->filter_policy_name = Text(texts, Names::kFilterPolicy);
  properties->prefix_extractor_name = Text(texts, Names::kPrefixExtractorName);
  properties->comparator_name = Text(texts, Names::kComparator);
  properties->compression_name = Text(texts, Names::kCompression);
  properties->session = Text(texts, Names::kDbSessionId);
  properties->number_in_session = Number(texts, Names::kOriginalFileNumber);
  return Status::OK();
}

std::string CompressionInWords(const std::string& compression_name) {
  const size_t types_at = compression_name.find(';') + 1;
  if (types_at == 0) return compression_name;
  const std::string types =
      compression_name.substr(types_at, compression_name.find(';', types_at) - types_at);
  std::string words;
  for (size_t i = 0; i < types.size(); i += 2) {
    const std::string digits = types.substr(i, 2);
    size_t number = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    const bool known = error == std::errc() && digits.size() == 2 && end == digits.data() + 2 &&
                       number < std::size(kCompressions);
    words += (words.empty() ? "" : ", ") + (known ? kCompressions[number] : "type " + digits);
  }
  return words.empty() ? kCompressions[0] : words;
}

bool TableProperties::HasExtractor(std::string_view name) const {
  return prefix_extractor_name == name || (HearsRanges() && name == kRangeExtractorName);
}

bool TableProperties::HearsRanges() const {
  return prefix_extractor_name == kRangeFileExtractorName;
}

std::vector<LiveTable> LiveTablesOf(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  rocksdb::ColumnFamilyMetaData data;
  db->GetColumnFamilyMetaData(family, &data);
  std::vector<LiveTable> tables;
  for (const rocksdb::LevelMetaData& level : data.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      tables.push_back({file.directory + "/" + file.relative_filename, level.level, file.size,
                        file.smallest_seqno, file.largest_seqno, file.smallestkey,
                        file.largestkey});
    }
  }
  return tables;
}

std::vector<std::vector<LiveTable>> SortedRuns(std::vector<LiveTable> tables) {
  std::vector<std::vector<LiveTable>> runs;
  std::map<int, std::vector<LiveTable>> levels;
  for (LiveTable& table : tables) {
    auto& run = table.level == 0 ? runs.emplace_back() : levels[table.level];
    run.push_back(std::move(table));
  }
  for (auto& [level, run] : levels) {
    std::stable_sort(run.begin(), run.end(), [](const LiveTable& a, const LiveTable& b) {
      return a.smallest < b.smallest;
    });
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace rocksieve
