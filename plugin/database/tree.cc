// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include <rocksdb/metadata.h>

#include "support/parallel.h"
#include "support/return_if_error.h"
#include "support/text.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr size_t kFewFiles = 3;
constexpr int kAttempts = 5;  // a living database may delete files while we look at them

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

void Describe(TreeFile* file, bool hold) {
  std::shared_ptr<const TableFile> table;
  const Status status = OpenTable(*file, &table);
  if (status.ok()) {
    file->properties = table->properties();
    const FileFilter filter(*table);
    file->filter = filter;
    file->filter.predicted_rate = filter.PredictedRate();
    if (hold) file->table = std::move(table);
  } else {
    file->filter.family = "unreadable";
    file->error = MessageOf(status);
    file->is_missing = status.IsNotFound() || status.IsPathNotFound();
    file->is_later = status.IsNotSupported() && file->error.find("later") != std::string::npos;
    if (file->is_missing) {
      file->error += "; it is lost, or lies in another one of the database's db_paths";
    }
  }
  // RocksDB refuses to open the database then.
  uint64_t bytes = 0;
  if (file->env()->GetFileSize(file->path, &bytes).ok() && bytes != file->bytes) {
    file->error += (file->error.empty() ? "it has " : "; it has ") + std::to_string(bytes) +
                   " bytes, and the MANIFEST says " + std::to_string(file->bytes);
  }
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

Status ReadTree(const Database& database, size_t number, Progress* progress, Tree* tree) {
  tree->database = &database;
  tree->number = number;
  tree->family = database.column_families()[number];
  rocksdb::ColumnFamilyMetaData data;
  database.db()->GetColumnFamilyMetaData(tree->handle(), &data);
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
  return RunAll(files.size(), [&](size_t i) {
    Describe(files[i], database.holds_files());
    return Advanced(progress);
  });
}

std::set<std::string> MissingFiles(const std::vector<Tree>& trees) {
  std::set<std::string> missing;
  for (const Tree& tree : trees) {
    for (const TreeFile* file : tree.files()) {
      if (file->is_missing) missing.insert(file->name);
    }
  }
  return missing;
}

// Where the MANIFEST lists no table: those whose rows are nowhere else. Before a first flush has
// ended, a log has them, which is older than the table. The sequence number is the MANIFEST's,
// since logs look empty: 0 until it has listed a table, which may be gone since.
uint64_t CountTablesThatNobodyKnows(const Database& database) {
  std::vector<std::string> names;
  if (database.db()->GetLatestSequenceNumber() > 0 ||
      !ReadOnlyEnv()->GetChildren(database.directory(), &names).ok()) {
    return 0;
  }
  return static_cast<uint64_t>(std::count_if(names.begin(), names.end(), [&](const auto& name) {
    std::unique_ptr<TableFile> table;
    return std::filesystem::path(name).extension() == ".sst" &&
           FileNumber(name) < database.oldest_write_ahead_log() &&
           TableFile::Open(ReadOnlyEnv(), database.directory() + "/" + name, &table).ok();
  }));
}

// What suits a cache of filters and indexes: data makes room for them, and the indexes of their
// partitions for what is asked for more often.
constexpr double kBestPoolRatio = 1;

// Three digits, so that little of a tight cache is lost.
uint64_t RoundedDown(double bytes) {
  uint64_t step = 1;
  while (bytes >= 1000 * static_cast<double>(step)) step *= 10;
  return static_cast<uint64_t>(bytes) / step * step;
}

std::string SettingsFor(const BlockCache& cache, const std::vector<CachedTree>& trees) {
  std::string settings = ", with listeners={rocksieve.listener}";
  if (cache.high_pri_pool_ratio < kBestPoolRatio) {
    settings += ", a block cache with high_pri_pool_ratio=1 instead of " +
                Fixed(cache.high_pri_pool_ratio, 2);
  }
  if (std::any_of(trees.begin(), trees.end(), [](const CachedTree& tree) {
        return tree.layout.indexes_partitioned && tree.layout.top_levels_pinned;
      })) {
    settings += ", pin_top_level_index_and_filter=false";
  }
  return settings;
}

}  // namespace

FileFilter::FileFilter(const TableFile& file) : properties_(file.properties()) {
  FilterPlaces places;
  const Status found = file.FindFilter(&places);
  if (!found.ok()) {
    index_damaged_ = true;
    problems.push_back(MessageOf(found));
  }
  layout = places.layout;
  stored_name = std::move(places.stored_name);
  top_ = places.top;
  uint64_t block_bytes = 0;
  for (const FilterPartition& partition : places.partitions) block_bytes += partition.place.size;
  bytes = exists() ? top_.size : 0;
  if (layout == FilterLayout::kPartitioned) bytes += block_bytes;

  // Releases before 7.3 do not say how many entries the filter has.
  const auto all_entries = static_cast<double>(
      properties_.filter_entries > 0 ? properties_.filter_entries : properties_.entries);
  // Of the first so many bytes: differences of these add up to all entries.
  const auto entries_in = [&](uint64_t first_bytes) {
    return static_cast<uint64_t>(
        std::llround(all_entries * static_cast<double>(first_bytes) /
                     static_cast<double>(std::max<uint64_t>(block_bytes, 1))));
  };
  uint64_t bytes_so_far = 0;
  for (const FilterPartition& partition : places.partitions) {
    const uint64_t bytes_before = bytes_so_far;
    bytes_so_far += partition.place.size;
    ReadBlock(file, partition, entries_in(bytes_so_far) - entries_in(bytes_before));
  }
  if (layout == FilterLayout::kPartitioned) partitions = blocks_.size();
  DescribeLargest();
  if (layout == FilterLayout::kObsolete) {
    family = "RocksDB block-based";
    problems.push_back(
        "its filter has one part per data block, which RocksDB 7.0 and later do "
        "not read: compact the file");
  }
}

void FileFilter::ReadBlock(const TableFile& file, const FilterPartition& partition,
                           uint64_t entries_by_bytes) {
  auto block = std::make_unique<FilterBlockOfFile>();
  block->partition = partition;
  const Status read = file.ReadFilterBlock(partition.place, &block->bytes);
  block->decoded = DecodedFilter::Decode(block->bytes, stored_name);
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
  block->entries =
      block->decoded.kind == BlockKind::kOurs ? block->decoded.info.key_count : entries_by_bytes;
  entries += block->entries;
  can_be_asked = can_be_asked && block->decoded.kind != BlockKind::kUnknown;
  if (!block->damage.empty()) problems.push_back(block->damage);
  blocks_.push_back(std::move(block));
}

void FileFilter::DescribeLargest() {
  if (exists()) family = "damaged";
  const auto largest =
      std::max_element(blocks_.begin(), blocks_.end(),
                       [](const auto& a, const auto& b) { return a->entries < b->entries; });
  if (largest == blocks_.end()) return;
  const DecodedFilter& decoded = (*largest)->decoded;
  family = decoded.Family();
  setting = decoded.Setting();
  parameters = decoded.Parameters();
  if (layout == FilterLayout::kPartitioned) {
    parameters = std::to_string(partitions) + " partitions, the largest with " + parameters;
  }
  for (const RangePart& part : decoded.parts()) {
    answers_ranges |= part.kind != "keys";
    if (part.kind == "prefixes") prefix_lengths.push_back(part.depth);
  }
}

double FileFilter::PredictedRate() const {
  double passes = 0, weights = 0;
  for (const auto& block : blocks_) {
    const double rate = block->decoded.PredictedRate(block->entries);
    if (std::isnan(rate)) return rate;
    // An empty one is asked about the few keys between its neighbours.
    const auto weight = static_cast<double>(std::max<uint64_t>(block->entries, 1));
    passes += weight * rate;
    weights += weight;
  }
  return weights == 0 || index_damaged_ ? 1 : passes / weights;
}

const FilterBlockOfFile& FileFilter::BlockFor(const ColumnFamily& column_family,
                                              std::string_view key) const {
  const auto found = std::lower_bound(
      blocks_.begin(), blocks_.end() - 1, key, [&](const auto& block, std::string_view wanted) {
        const std::string_view last_key = block->partition.last_key;
        return column_family.Compare(properties_.timestamps_persisted
                                         ? column_family.WithoutTimestamp(last_key)
                                         : last_key,
                                     wanted) < 0;
      });
  return **found;
}

bool FileFilter::MayContain(const ColumnFamily& column_family, std::string_view key) const {
  std::string_view entry;
  if (blocks_.empty() || index_damaged_) return true;
  if (!column_family.EntryToAsk(properties_, key, &entry)) return true;
  return BlockFor(column_family, key).decoded.MayContain(entry);
}

bool FileFilter::IsAskedForRanges(const ColumnFamily& column_family) const {
  return !blocks_.empty() && !index_damaged_ &&
         column_family.comparator.get() == rocksdb::BytewiseComparator() &&
         properties_.HearsRanges() && properties_.HasExtractor(column_family.prefix_extractor_name);
}

bool FileFilter::MayContainRange(const ColumnFamily& column_family, std::string_view begin,
                                 std::string_view end) const {
  return BlockFor(column_family, begin).decoded.MayContainRange(begin, end);
}

double FileFilter::PredictedRangeRate(const ColumnFamily& column_family,
                                      const EmptyRange& range) const {
  return BlockFor(column_family, range.begin).decoded.PredictedRangeRate(range);
}

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

Status OpenAndReadTrees(const std::string& directory,
                        const std::vector<std::string>& column_families, Progress* progress,
                        DatabaseTrees* opened) {
  std::vector<Tree>& trees = opened->trees;
  std::set<std::string> missing_before, lost;
  uint64_t found = 0;  // tables that nobody knows
  for (int attempt = 0; attempt < kAttempts && (attempt < 2 || found == 0); attempt++) {
    found = 0;
    RETURN_IF_ERROR(Database::Open(directory, column_families, &opened->database));
    trees.assign(opened->database->column_families().size(), Tree());
    for (size_t i = 0; i < trees.size(); i++) {
      RETURN_IF_ERROR(ReadTree(*opened->database, i, progress, &trees[i]));
    }
    // What was deleted in the meantime is not listed the next time; what is lost, is.
    const std::set<std::string> missing = MissingFiles(trees);
    const bool are_lost =
        std::includes(missing_before.begin(), missing_before.end(), missing.begin(), missing.end());
    lost.clear();
    std::set_intersection(missing.begin(), missing.end(), missing_before.begin(),
                          missing_before.end(), std::inserter(lost, lost.end()));
    missing_before = missing;
    if (!are_lost) continue;
    const bool any_files = std::any_of(trees.begin(), trees.end(),
                                       [](const Tree& tree) { return !tree.levels.empty(); });
    if (!column_families.empty() || any_files) return Status::OK();
    found = CountTablesThatNobodyKnows(*opened->database);
    if (found == 0) return Status::OK();
  }
  if (found == 0) {  // its owner deletes files faster than they can be looked at
    for (Tree& tree : trees) {
      for (TreeLevel& level : tree.levels) {
        std::erase_if(level.files, [&](const TreeFile& file) {
          return file.is_missing && lost.count(file.name) == 0;
        });
      }
      std::erase_if(tree.levels, [](const TreeLevel& level) { return level.files.empty(); });
    }
    return Status::OK();
  }
  return Status::InvalidArgument(
      "the MANIFEST of the database in " + directory + " lists no table file, yet " +
      std::to_string(found) +
      " are there, with rows that no log has.\nWhoever opens the database for writing finds it "
      "empty, and deletes them. Copy it first. If rows should be there, the end of the MANIFEST is "
      "lost: ldb repair --db=COPY. Single files: rocksieve inspect FILE.sst");
}

bool CachesFilters(const OptionsFile& options, const std::string& column_family) {
  return options.TableValue(column_family, "cache_index_and_filter_blocks") == "true";
}

CacheLayout CacheLayoutOf(const OptionsFile& options, const std::string& column_family) {
  const auto value = [&](const char* option) { return options.TableValue(column_family, option); };
  CacheLayout layout;
  layout.indexes_partitioned = value("index_type") == "kTwoLevelIndexSearch";
  layout.filters_partitioned = layout.indexes_partitioned && value("partition_filters") == "true";
  layout.indexes_cached = layout.indexes_partitioned || CachesFilters(options, column_family);
  const double partition_bytes = std::atof(value("metadata_block_size").c_str());
  if (partition_bytes >= 1) layout.partition_bytes = partition_bytes;
  layout.top_levels_pinned = value("pin_top_level_index_and_filter") != "false";
  return layout;
}

UnfilteredFile UnfilteredFileOf(const TreeFile& file, uint64_t filter_keys) {
  const TableProperties& properties = file.properties;
  UnfilteredFile unfiltered;
  unfiltered.file = {file.smallest, file.largest, properties.entries, filter_keys};
  unfiltered.index_bytes = static_cast<double>(properties.index_bytes);
  if (properties.data_blocks > 0) {
    unfiltered.data_block_bytes =
        static_cast<double>(properties.data_bytes) / static_cast<double>(properties.data_blocks);
  }
  return unfiltered;
}

CacheAdvice AdviseFor(const BlockCache& cache, std::vector<CachedTree> trees) {
  CacheAdvice advice;
  advice.settings = SettingsFor(cache, trees);
  BlockCache suiting = cache;
  suiting.high_pri_pool_ratio = std::max(cache.high_pri_pool_ratio, kBestPoolRatio);
  for (CachedTree& tree : trees) tree.layout.top_levels_pinned = false;
  const CacheBudget best = BestBudget(Allocator(AutoSpec().ForAllocator()), trees, suiting);
  advice.bytes = best.bytes;
  advice.reads = best.reads;
  for (const CachedTree& tree : trees) {
    AutoSpec spec;
    spec.bytes = std::max(AutoSpec::kMinBytes, RoundedDown(tree.budget_share * best.bytes));
    advice.specs.push_back(std::move(spec));
  }
  return advice;
}

}  // namespace rocksieve
