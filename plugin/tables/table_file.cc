#include "plugin/tables/table_file.h"

#include <algorithm>
#include <string_view>

#include "plugin/tables/table_properties.h"

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

constexpr size_t kInternalKeySuffixBytes = 8;  // sequence number and type

Status About(const std::string& what, const Status& status) {
  const char* const state = status.getState();
  return Status::Corruption(what + ": " + (state != nullptr ? state : status.ToString()));
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
  status = ForEachEntry(block, [&](std::string_view name, std::string_view value) {
    BlockPlace place;
    if (TakeVarint(&value, &place.offset) && TakeVarint(&value, &place.size)) {
      meta_blocks_.emplace(name, place);
    }
    return true;
  });
  if (!status.ok()) return About("the index of meta blocks", status);

  auto found = meta_blocks_.find(kPropertiesName);
  if (found == meta_blocks_.end()) found = meta_blocks_.find(kOldPropertiesName);
  if (found == meta_blocks_.end()) return Status::Corruption("it has no properties block");
  // Unchecked: the sequence number of an ingested file is written into it afterwards. What is
  // damaged is not understood, or is a wrong number in a report.
  status = ReadBlock(file_.get(), bytes_, footer_, found->second, /*check=*/false, &block);
  if (status.ok()) status = ParseProperties(block, &properties_);
  return status.ok() ? status : About("the properties block", status);
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
  bool fits = true;
  if (status.ok()) {
    status = ForEachIndexEntry(
        index, properties_.index_value_is_delta_encoded,
        [&](std::string_view key, BlockPlace place) {
          fits = place.size <= bytes_left;
          if (!fits) return false;
          bytes_left -= place.size;
          if (!properties_.index_key_is_user_key) {
            key = key.substr(0, key.size() - std::min(key.size(), kInternalKeySuffixBytes));
          }
          places->partitions.push_back({place, std::string(key)});
          return true;
        });
  }
  if (status.ok() && !fits) {
    status = Status::Corruption("it names more bytes than the file has");
  }
  return status.ok() ? status : About("the index of filter partitions", status);
}

Status TableFile::ReadFilterBlock(BlockPlace place, std::string* block) const {
  return ReadBlock(file_.get(), bytes_, footer_, place, /*check=*/true, block);
}

}  // namespace rocksieve
