// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <rocksdb/metadata.h>

#include "support/parallel.h"

namespace rocksieve {
namespace {

std::string DamageOf(const DecodedFilter& filter) {
  switch (filter.kind) {
    case BlockKind::kDamaged:
      return "it is not as rocksieve wrote it";
    case BlockKind::kFutureVersion:
      return "a later version of rocksieve wrote it";
    case BlockKind::kMatchesAll:
      return "RocksDB cannot read it";
    default:
      return "";
  }
}

}  // namespace

FileFilter::FileFilter(const TableFile& file) : properties_(file.properties()) {
  const rocksdb::Status found = file.FindFilter(&places_);
  if (!found.ok()) {
    index_damaged_ = true;
    problems_.push_back(MessageOf(found));
  }
  bytes_ = places_.layout == FilterLayout::kNone ? 0 : places_.top.size;
  uint64_t block_bytes = 0;
  for (const FilterPartition& partition : places_.partitions) {
    block_bytes += partition.place.size;
  }
  if (places_.layout == FilterLayout::kPartitioned) bytes_ += block_bytes;

  // Releases before 7.3 do not say how many entries the filter has.
  const auto entries = static_cast<double>(
      properties_.filter_entries > 0 ? properties_.filter_entries : properties_.entries);
  // Of the first so many bytes: differences of these add up to all entries.
  const auto entries_in = [&](uint64_t bytes) {
    return static_cast<uint64_t>(
        std::llround(entries * static_cast<double>(bytes) /
                     static_cast<double>(std::max<uint64_t>(block_bytes, 1))));
  };
  uint64_t bytes_so_far = 0;
  for (const FilterPartition& partition : places_.partitions) {
    auto block = std::make_unique<FilterBlockOfFile>();
    block->partition = partition;
    const rocksdb::Status read = file.ReadFilterBlock(partition.place, &block->bytes);
    block->decoded = DecodedFilter::Decode(block->bytes, places_.stored_name);
    if (!read.ok()) {
      block->damage = MessageOf(read);
      block->decoded = DecodedFilter();
      block->decoded.kind = BlockKind::kDamaged;
    } else {
      block->damage = DamageOf(block->decoded);
      if (!block->damage.empty()) {
        block->damage = "the block at offset " + std::to_string(partition.place.offset) + " (" +
                        std::to_string(partition.place.size) + " bytes): " + block->damage;
      }
    }
    const uint64_t bytes_before = bytes_so_far;
    bytes_so_far += partition.place.size;
    block->entries = block->decoded.kind == BlockKind::kOurs
                         ? block->decoded.info.key_count
                         : entries_in(bytes_so_far) - entries_in(bytes_before);
    if (!block->damage.empty()) problems_.push_back(block->damage);
    blocks_.push_back(std::move(block));
  }
  if (places_.layout == FilterLayout::kObsolete) {
    problems_.push_back(
        "its filter has one part per data block, which RocksDB 7.0 and later do "
        "not read: compact the file");
  }
}

uint64_t FileFilter::entries() const {
  uint64_t sum = 0;
  for (const auto& block : blocks_) sum += block->entries;
  return sum;
}

double FileFilter::PredictedRate() const {
  double passes = 0, entries = 0;
  for (const auto& block : blocks_) {
    const double rate = block->decoded.PredictedRate(block->entries);
    if (std::isnan(rate)) return rate;
    // An empty one is asked about the few keys between its neighbours.
    const auto weight = static_cast<double>(std::max<uint64_t>(block->entries, 1));
    passes += weight * rate;
    entries += weight;
  }
  return entries == 0 || index_damaged_ ? 1 : passes / entries;
}

bool FileFilter::CanBeAsked() const {
  return std::none_of(blocks_.begin(), blocks_.end(),
                      [](const auto& block) { return block->decoded.kind == BlockKind::kUnknown; });
}

const FilterBlockOfFile& FileFilter::BlockFor(const ColumnFamily& family,
                                              std::string_view key) const {
  const auto found = std::lower_bound(
      blocks_.begin(), blocks_.end() - 1, key, [&](const auto& block, std::string_view wanted) {
        const std::string_view last_key = block->partition.last_key;
        return family.Compare(
                   properties_.timestamps_persisted ? family.WithoutTimestamp(last_key) : last_key,
                   wanted) < 0;
      });
  return **found;
}

bool FileFilter::MayContain(const ColumnFamily& family, std::string_view key) const {
  std::string_view entry;
  if (blocks_.empty() || index_damaged_) return true;
  if (!family.EntryToAsk(properties_, key, &entry)) return true;
  return BlockFor(family, key).decoded.MayContain(entry);
}

bool FileFilter::IsAskedForRanges(const ColumnFamily& family) const {
  return !blocks_.empty() && !index_damaged_ &&
         family.comparator.get() == rocksdb::BytewiseComparator() && properties_.HearsRanges() &&
         properties_.HasExtractor(family.prefix_extractor_name);
}

bool FileFilter::MayContainRange(const ColumnFamily& family, std::string_view begin,
                                 std::string_view end) const {
  return BlockFor(family, begin).decoded.MayContainRange(begin, end);
}

double FileFilter::PredictedRangeRate(const ColumnFamily& family, const EmptyRange& range) const {
  return BlockFor(family, range.begin).decoded.PredictedRangeRate(range);
}

const FilterBlockOfFile* FileFilter::Largest() const {
  const FilterBlockOfFile* largest = nullptr;
  for (const auto& block : blocks_) {
    if (largest == nullptr || block->entries > largest->entries) largest = block.get();
  }
  return largest;
}

std::string FileFilter::Family() const {
  if (places_.layout == FilterLayout::kNone) return "none";
  if (places_.layout == FilterLayout::kObsolete) return "RocksDB block-based";
  return Largest() == nullptr ? "damaged" : Largest()->decoded.Family();
}

std::string FileFilter::Parameters() const {
  const FilterBlockOfFile* const largest = Largest();
  if (largest == nullptr) return "";
  const std::string parameters = largest->decoded.Parameters();
  if (places_.layout != FilterLayout::kPartitioned) return parameters;
  return std::to_string(blocks_.size()) + " partitions, the largest with " + parameters;
}

namespace {

using rocksdb::Status;

constexpr size_t kFewFiles = 3;
constexpr int kAttempts = 3;  // a living database may delete files while we look at them

FilterSummary Summarize(const FileFilter& filter) {
  FilterSummary summary;
  summary.layout = filter.layout();
  summary.family = filter.Family();
  summary.parameters = filter.Parameters();
  if (filter.Largest() != nullptr) summary.setting = filter.Largest()->decoded.Setting();
  summary.stored_name = filter.stored_name();
  summary.bytes = filter.bytes();
  summary.entries = filter.entries();
  summary.partitions = filter.layout() == FilterLayout::kPartitioned ? filter.blocks().size() : 0;
  summary.predicted_rate = filter.PredictedRate();
  summary.can_be_asked = filter.CanBeAsked();
  summary.problems = filter.problems();
  if (filter.Largest() == nullptr) return summary;
  for (const RangePart& part : filter.Largest()->decoded.parts()) {
    summary.answers_ranges |= part.kind != "keys";
    if (part.kind == "prefixes") summary.prefix_lengths.push_back(part.depth);
  }
  return summary;
}

Status Describe(TreeFile* file, bool hold) {
  std::shared_ptr<const TableFile> table;
  const Status status = OpenTable(*file, &table);
  if (status.ok()) {
    file->properties = table->properties();
    file->filter = Summarize(FileFilter(*table));
    if (hold) file->table = std::move(table);
    return status;
  }
  file->filter.family = "unreadable";
  file->error = MessageOf(status);
  if (status.IsNotFound() || status.IsPathNotFound()) {
    file->error += "; it is lost, or lies in another one of the database's db_paths";
  }
  uint64_t bytes = 0;
  if (file->env()->GetFileSize(file->path, &bytes).ok() && bytes != file->bytes) {
    file->error += "; it has " + std::to_string(bytes) + " bytes, and the MANIFEST says " +
                   std::to_string(file->bytes);
  }
  return status;
}

// Table files in the directory that are in no tree: old ones not yet deleted, new ones not yet
// finished; or the end of the MANIFEST is lost, which RocksDB does not notice.
uint64_t CountUnlisted(const std::string& directory, const std::vector<Tree>& trees) {
  uint64_t listed = 0;
  for (const Tree& tree : trees) listed += tree.file_count();
  const uint64_t found = CountTableFiles(directory);
  return found > listed ? found - listed : 0;
}

TreeFile FromMetaData(const ColumnFamily& family, int level, const rocksdb::SstFileMetaData& data) {
  TreeFile file;
  file.name = data.relative_filename;
  file.path = data.directory + "/" + data.relative_filename;
  file.level = level;
  file.bytes = data.size;
  file.smallest = family.WithoutTimestamp(data.smallestkey);
  file.largest = family.WithoutTimestamp(data.largestkey);
  return file;
}

}  // namespace

std::vector<const TreeFile*> Tree::files() const {
  std::vector<const TreeFile*> files;
  for (const TreeLevel& level : levels) {
    for (const TreeFile& file : level.files) files.push_back(&file);
  }
  return files;
}

uint64_t Tree::entries() const {
  uint64_t sum = 0;
  for (const TreeFile* file : files()) sum += file->properties.entries;
  return sum;
}

uint64_t Tree::filter_bytes() const {
  uint64_t sum = 0;
  for (const TreeFile* file : files()) sum += file->filter.bytes;
  return sum;
}

uint64_t Tree::file_count() const { return files().size(); }

std::vector<std::string> Tree::Problems() const {
  std::vector<std::string> problems;
  for (const TreeFile* file : files()) {
    if (!file->error.empty()) problems.push_back(file->name + ": " + file->error);
    for (const std::string& problem : file->filter.problems) {
      problems.push_back(file->name + ": " + problem);
    }
  }
  return problems;
}

bool Tree::ChecksRanges() const {
  return levels.size() != 1 || levels[0].level != 0 || levels[0].files.size() > kFewFiles;
}

bool Tree::LookupComesTo(const TreeFile& file, std::string_view key) const {
  if (ChecksRanges() && family.Compare(key, file.smallest) < 0) return false;
  return family.Compare(key, file.largest) <= 0;
}

Status OpenTable(const TreeFile& file, std::shared_ptr<const TableFile>* table) {
  *table = file.table;
  if (*table != nullptr) return Status::OK();
  std::unique_ptr<TableFile> opened;
  const Status status = TableFile::Open(file.env(), file.path, &opened);
  *table = std::move(opened);
  return status;
}

Status ReadTree(const Database& database, size_t family, Progress* progress, Tree* tree) {
  tree->family = database.column_families()[family];
  tree->levels.clear();
  rocksdb::ColumnFamilyMetaData data;
  database.db()->GetColumnFamilyMetaData(database.handle(family), &data);
  std::vector<TreeFile*> files;
  for (const rocksdb::LevelMetaData& level : data.levels) {
    if (level.files.empty()) continue;
    tree->levels.push_back({level.level, {}});
    for (const rocksdb::SstFileMetaData& file : level.files) {
      tree->levels.back().files.push_back(FromMetaData(tree->family, level.level, file));
      tree->levels.back().files.back().files = database.files();
    }
  }
  for (TreeLevel& level : tree->levels) {
    const bool last = &level == &tree->levels.back();
    // BlockBasedTable::IsFilterSkipped(): level 0 only if the file is the oldest of its level.
    for (TreeFile& file : level.files) {
      const bool skipped = tree->family.optimize_filters_for_hits && last &&
                           (level.level > 0 || &file == &level.files.back());
      file.filter_is_asked = !skipped;
      files.push_back(&file);
    }
  }
  progress->Begin("reading filters of column family " + tree->family.name, files.size());
  bool missing = false;
  const Status status = RunAll(files.size(), [&](size_t i) {
    const Status described = Describe(files[i], database.holds_files());
    if (described.IsNotFound() || described.IsPathNotFound()) missing = true;
    return Advanced(progress);
  });
  if (!status.ok()) return status;
  return missing ? Status::TryAgain("a file was deleted while it was looked at") : status;
}

Status OpenAndReadTrees(const std::string& directory,
                        const std::vector<std::string>& column_families, Progress* progress,
                        std::unique_ptr<Database>* database, std::vector<Tree>* trees) {
  Status status;
  for (int attempt = 0; attempt < kAttempts; attempt++) {
    status = Database::Open(directory, column_families, database);
    if (!status.ok()) return status;
    trees->assign((*database)->column_families().size(), Tree());
    bool again = false;
    for (size_t i = 0; i < trees->size(); i++) {
      status = ReadTree(**database, i, progress, &(*trees)[i]);
      if (status.IsTryAgain()) {
        again = true;
      } else if (!status.ok()) {
        return status;
      }
    }
    if (!again) break;
  }
  const bool all_families = column_families.empty();
  uint64_t files = 0;
  for (const Tree& tree : *trees) files += tree.file_count();
  const uint64_t unlisted = all_families ? CountUnlisted(directory, *trees) : 0;
  if (files == 0 && unlisted > 0) {
    return Status::InvalidArgument(
        "the MANIFEST of the database in " + directory + " lists none of the " +
        std::to_string(unlisted) +
        " table files there: its end seems to be lost.\nRestore it, or "
        "repair a copy: ldb repair --db=COPY. Single files: rocksieve inspect FILE.sst");
  }
  return Status::OK();
}

}  // namespace rocksieve
