// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/sst_filters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <rocksieve/filter.h>

#include "plugin/tables/decoded_filter.h"

namespace rocksieve::join {
namespace {

// So many keys of memtables share a filter: few enough to have the first one at once.
constexpr size_t kMemtableKeysPerFilter = 8192;
constexpr char kMemtableSpec[] = "rocksieve.ribbon:10";
// For an offer.
constexpr size_t kMostFilesRead = 12;
constexpr double kMemtableBytesPerKey = 10.4 / 8;
constexpr double kMemtableRate = 0.001;

// A file's table and its filters of whole keys; null if it has none of them that can be read.
std::shared_ptr<const TableFile> OpenFiltered(rocksdb::Env* env, const LiveTable& file,
                                              FilterPlaces* places) {
  std::unique_ptr<TableFile> table;
  const bool has_filter = TableFile::Open(env, file.path, &table).ok() &&
                          table->FindFilter(places).ok() && !places->partitions.empty() &&
                          places->layout != FilterLayout::kObsolete &&
                          table->properties().whole_keys_filtered;
  if (!has_filter) return nullptr;
  return table;
}

// Of all files of a sorted run, or of those that were read of it.
struct Share {
  double bytes = 0;         // of the files
  double filter_bytes = 0;  // of their filters
  double passes = 0;        // rate times bytes

  void Add(const Share& other) {
    bytes += other.bytes;
    filter_bytes += other.filter_bytes;
    passes += other.passes;
  }
};

// Filters of ribbons have the compact frame up to so many entries: docs/formats/block.md.
constexpr double kMostCompactEntries = 32767;
bool SaysRibbon(const std::string& policy_name) {
  return policy_name.find("ibbon") != std::string::npos ||
         policy_name.find("auto") != std::string::npos;
}

// Of a filter of so many bits per entry, within a factor of two: the textbook's Bloom filter with
// what lines of 64 bytes cost (RocksDB's util/bloom_impl.h), a cuckoo filter whose slots are 95 %
// full (docs/design/cuckoo.md), or a ribbon filter with its overhead.
double RateFor(const std::string& policy_name, double bits) {
  const auto says = [&](const char* word) { return policy_name.find(word) != std::string::npos; };
  double rate = 1.15 * std::pow(0.6185, bits);
  if (SaysRibbon(policy_name)) rate = std::exp2(-bits / 1.04);
  if (says("cuckoo")) rate = std::exp2(2.2 - 0.95 * bits);
  return std::min(1.0, rate);
}

Share Look(rocksdb::Env* env, const LiveTable& file, uint8_t* formats) {
  Share share;
  share.bytes = share.passes = static_cast<double>(file.bytes);
  FilterPlaces places;
  const auto table = OpenFiltered(env, file, &places);
  if (table == nullptr) return share;
  const TableProperties& properties = table->properties();
  for (const FilterPartition& part : places.partitions) {
    share.filter_bytes += static_cast<double>(part.place.size);
  }
  const uint64_t entries = std::max<uint64_t>(
      1, properties.filter_entries > 0 ? properties.filter_entries : properties.entries);
  const bool builtin = properties.filter_policy_name.find("rocksieve") == std::string::npos;
  double answering_bytes = share.filter_bytes;
  if (!builtin) {
    // Keys have a sequence number of 8 bytes in files, and none in filters.
    const double key_bytes = static_cast<double>(properties.raw_key_bytes) /
                                 static_cast<double>(std::max<uint64_t>(1, properties.entries)) -
                             8;
    const auto partitions = static_cast<double>(places.partitions.size());
    const bool compact = SaysRibbon(properties.filter_policy_name) &&
                         static_cast<double>(entries) <= kMostCompactEntries * partitions;
    answering_bytes -= partitions * ReckonedFrameBytes(std::max(0.0, key_bytes), compact);
  }
  share.passes *= RateFor(properties.filter_policy_name,
                          8 * std::max(0.0, answering_bytes) / static_cast<double>(entries));
  *formats |= BitOf(builtin ? FilterFormat::kRocksDbBuiltin : FilterFormat::kOurs);
  return share;
}

// What the filters of files will take and do, from what some of the files say of themselves. Reads
// no filter, and no more than a few files. No offer if none of them has a filter of whole keys.
ExistingFilterOffer OfferOf(rocksdb::Env* env, const std::vector<const LiveTable*>& files,
                            uint64_t memtable_entries) {
  // The largest file of each sorted run first, since runs may differ.
  std::vector<const LiveTable*> by_size = files;
  std::sort(by_size.begin(), by_size.end(),
            [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  const auto run_of = [](const LiveTable& file) {
    return file.level == 0 ? file.path : std::to_string(file.level);
  };
  std::map<std::string, Share> read, all;
  for (const LiveTable* file : files) {
    all[run_of(*file)].bytes += static_cast<double>(file->bytes);
  }
  ExistingFilterOffer offer;
  Share sum;
  size_t files_read = 0;
  for (const LiveTable* file : by_size) {
    if (files_read == kMostFilesRead) break;
    Share& of_run = read[run_of(*file)];
    if (of_run.bytes > 0) continue;
    of_run = Look(env, *file, &offer.formats);
    sum.Add(of_run);
    files_read++;
  }
  if (sum.filter_bytes == 0) return {};
  double bytes = 0, pass_rate = 0;
  for (const auto& [run, of_run] : all) {
    const auto found = read.find(run);
    const Share& like = found != read.end() && found->second.bytes > 0 ? found->second : sum;
    bytes += of_run.bytes * like.filter_bytes / like.bytes;
    pass_rate += like.passes / like.bytes;
  }
  if (memtable_entries > 0) {
    bytes += kMemtableBytesPerKey * static_cast<double>(memtable_entries);
    pass_rate += kMemtableRate;
    offer.formats |= BitOf(FilterFormat::kOurs);
  }
  offer.bytes = static_cast<uint64_t>(std::ceil(bytes)) + 1;
  offer.pass_rate = std::min(1.0, pass_rate);
  return offer;
}

FilterFormat FormatOf(const DecodedFilter& filter) {
  switch (filter.kind) {
    case BlockKind::kOurs:
      return FilterFormat::kOurs;
    case BlockKind::kRocksDb:
    case BlockKind::kEmpty:
      return FilterFormat::kRocksDbBuiltin;
    default:
      return FilterFormat::kNone;
  }
}

class SstFilterReader final : public ExistingFilterReader {
 public:
  SstFilterReader(PinnedTree* tree, KeyInterval interval)
      : tree_(tree), interval_(std::move(interval)), memtables_(tree->memtables.get()) {
    for (const LiveTable& file : tree->files) {
      if (Overlaps(file.smallest, file.largest)) files_.push_back(&file);
    }
    memtables_->Seek(interval_.begin);
  }

  ExistingFilterOffer Offer() override {
    return OfferOf(tree_->env, files_, tree_->memtable_entries);
  }

  bool Next(ExistingFilter* filter) override {
    for (;;) {
      const std::string* const file =
          next_file_ < files_.size() ? &files_[next_file_]->smallest : nullptr;
      const std::string* const block = blocks_.empty() ? nullptr : &blocks_.begin()->first;
      const bool has_memtable = MemtableHasKey();
      if (failed()) return false;
      if (block != nullptr && (file == nullptr || *block <= *file) &&
          (!has_memtable || *block <= memtables_->key().ToStringView())) {
        TakeBlock(filter);
        return true;
      }
      if (file != nullptr && (!has_memtable || *file <= memtables_->key().ToStringView())) {
        OpenFile(*files_[next_file_++]);
        continue;
      }
      if (!has_memtable) return false;
      TakeMemtableKeys(filter);
      return true;
    }
  }

  bool failed() const override { return !memtables_->status().ok(); }

 private:
  // A filter block that is not read yet.
  struct Block {
    std::shared_ptr<const TableFile> table;  // null: there is none
    BlockPlace place;
    std::string stored_name;
    std::string largest;
  };

  bool Overlaps(const std::string& smallest, const std::string& largest) const {
    return largest >= interval_.begin && (!interval_.end || smallest < *interval_.end);
  }

  bool MemtableHasKey() const {
    return memtables_->Valid() &&
           (!interval_.end || memtables_->key().ToStringView() < *interval_.end);
  }

  // Puts its filter blocks in the order in which they are to be given.
  void OpenFile(const LiveTable& file) {
    FilterPlaces places;
    const auto table = OpenFiltered(tree_->env, file, &places);
    if (table == nullptr) {
      blocks_.emplace(file.smallest, Block{nullptr, {}, "", file.largest});
      return;
    }
    // A key that equals the last one of a part may have versions in the next one: it belongs to
    // both.
    const std::string* begin = &file.smallest;
    for (const FilterPartition& part : places.partitions) {
      const bool last = &part == &places.partitions.back();
      const std::string& end = last ? file.largest : part.last_key;
      const auto [smallest, largest] = std::minmax(*begin, std::max(end, file.smallest));
      if (Overlaps(smallest, largest)) {
        blocks_.emplace(smallest, Block{table, part.place, places.stored_name, largest});
      }
      begin = &part.last_key;
    }
  }

  void TakeBlock(ExistingFilter* filter) {
    const auto first = blocks_.extract(blocks_.begin());
    const Block& block = first.mapped();
    *filter = {first.key(), block.largest, FilterFormat::kNone, ""};
    if (block.table == nullptr) return;
    std::string bytes;
    if (!block.table->ReadFilterBlock(block.place, &bytes).ok()) return;
    filter->format = FormatOf(DecodedFilter::Decode(bytes, block.stored_name));
    if (filter->format != FilterFormat::kNone) filter->block = std::move(bytes);
  }

  void TakeMemtableKeys(ExistingFilter* filter) {
    FilterSpec spec;
    FilterSpec::Parse(kMemtableSpec, &spec);
    FilterBuilder builder(spec);
    filter->smallest = memtables_->key().ToString();
    for (size_t keys = 0; keys < kMemtableKeysPerFilter && MemtableHasKey(); keys++) {
      builder.AddKey(memtables_->key().ToStringView());
      filter->largest.assign(memtables_->key().data(), memtables_->key().size());
      memtables_->Next();
    }
    filter->format = FilterFormat::kOurs;
    filter->block = std::string(builder.Finish().view());
  }

  PinnedTree* const tree_;
  const KeyInterval interval_;
  rocksdb::Iterator* const memtables_;
  std::vector<const LiveTable*> files_;
  size_t next_file_ = 0;
  std::multimap<std::string, Block> blocks_;  // of opened files, by smallest key
};

class BuiltinFilter final : public KeyFilter {
 public:
  explicit BuiltinFilter(DecodedFilter filter) : filter_(std::move(filter)) {}
  bool MayContain(std::string_view key) const override { return filter_.MayContain(key); }

 private:
  const DecodedFilter filter_;
};

}  // namespace

void PinTree(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
             const rocksdb::ReadOptions& options, PinnedTree* tree) {
  tree->env = db->GetEnv();
  rocksdb::ReadOptions memtables_only = options;
  memtables_only.read_tier = rocksdb::kMemtableTier;
  tree->memtables.reset(db->NewIterator(memtables_only, family));
  tree->memtable_entries = 0;
  tree->memtable_entries_known = true;
  for (const std::string& property : {rocksdb::DB::Properties::kNumEntriesActiveMemTable,
                                      rocksdb::DB::Properties::kNumEntriesImmMemTables}) {
    uint64_t entries = 0;
    if (!db->GetIntProperty(family, property, &entries)) tree->memtable_entries_known = false;
    tree->memtable_entries += entries;
  }
  tree->files = LiveTablesOf(db, family);
  std::stable_sort(tree->files.begin(), tree->files.end(),
                   [order = family->GetComparator()](const auto& a, const auto& b) {
                     return order->Compare(a.smallest, b.smallest) < 0;
                   });
}

std::unique_ptr<ExistingFilterReader> ReadSstFilters(PinnedTree* tree,
                                                     const KeyInterval& interval) {
  return std::make_unique<SstFilterReader>(tree, interval);
}

std::unique_ptr<KeyFilter> DecodeBuiltinFilter(std::string_view block) {
  DecodedFilter filter = DecodedFilter::Decode(block, kBuiltinStoredName);
  if (FormatOf(filter) != FilterFormat::kRocksDbBuiltin) return nullptr;
  return std::make_unique<BuiltinFilter>(std::move(filter));
}

}  // namespace rocksieve::join
