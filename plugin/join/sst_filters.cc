#include "plugin/join/sst_filters.h"

#include <algorithm>
#include <map>
#include <utility>

#include <rocksieve/filter.h>

#include "plugin/join/sst_filter_offer.h"
#include "plugin/join/status.h"
#include "plugin/tables/decoded_filter.h"
#include "plugin/tables/table_file.h"

namespace rocksieve::join {
namespace {

// So many keys of memtables share a filter: few enough to have the first one at once.
constexpr size_t kMemtableKeysPerFilter = 8192;
constexpr char kMemtableSpec[] = "rocksieve.ribbon:10";

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

class SstFilterReader final : public ReadyFilterReader {
 public:
  SstFilterReader(PinnedTree* tree, KeyInterval interval)
      : tree_(tree), interval_(std::move(interval)), memtables_(tree->memtables.get()) {
    for (const PinnedTree::File& file : tree->files) {
      if (Overlaps(file.smallest, file.largest)) files_.push_back(&file);
    }
    memtables_->Seek(ToSlice(interval_.begin));
  }

  ReadyOffer Offer() override { return OfferOf(tree_->env, files_, tree_->memtable_entries); }

  bool Next(ReadyFilter* filter) override {
    for (;;) {
      const std::string* const file =
          next_file_ < files_.size() ? &files_[next_file_]->smallest : nullptr;
      const std::string* const block = blocks_.empty() ? nullptr : &blocks_.begin()->first;
      const bool has_memtable = MemtableHasKey();
      if (failed()) return false;
      if (block != nullptr && (file == nullptr || *block <= *file) &&
          (!has_memtable || *block <= ToView(memtables_->key()))) {
        TakeBlock(filter);
        return true;
      }
      if (file != nullptr && (!has_memtable || *file <= ToView(memtables_->key()))) {
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
    return memtables_->Valid() && (!interval_.end || ToView(memtables_->key()) < *interval_.end);
  }

  // Puts its filter blocks in the order in which they are to be given.
  void OpenFile(const PinnedTree::File& file) {
    std::unique_ptr<TableFile> opened;
    FilterPlaces places;
    const bool has_filter = TableFile::Open(tree_->env, file.path, &opened).ok() &&
                            opened->FindFilter(&places).ok() && !places.partitions.empty() &&
                            places.layout != FilterLayout::kObsolete &&
                            opened->properties().whole_keys_filtered;
    if (!has_filter) {
      blocks_.emplace(file.smallest, Block{nullptr, {}, "", file.largest});
      return;
    }
    const std::shared_ptr<const TableFile> table = std::move(opened);
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

  void TakeBlock(ReadyFilter* filter) {
    const auto first = blocks_.extract(blocks_.begin());
    const Block& block = first.mapped();
    *filter = {first.key(), block.largest, FilterFormat::kNone, ""};
    if (block.table == nullptr) return;
    std::string bytes;
    if (!block.table->ReadFilterBlock(block.place, &bytes).ok()) return;
    filter->format = FormatOf(DecodedFilter::Decode(bytes, block.stored_name));
    if (filter->format != FilterFormat::kNone) filter->block = std::move(bytes);
  }

  void TakeMemtableKeys(ReadyFilter* filter) {
    FilterSpec spec;
    FilterSpec::Parse(kMemtableSpec, &spec);
    FilterBuilder builder(spec);
    filter->smallest = memtables_->key().ToString();
    for (size_t keys = 0; keys < kMemtableKeysPerFilter && MemtableHasKey(); keys++) {
      builder.AddKey(ToView(memtables_->key()));
      filter->largest.assign(memtables_->key().data(), memtables_->key().size());
      memtables_->Next();
    }
    filter->format = FilterFormat::kOurs;
    filter->block = std::string(builder.Finish().view());
  }

  PinnedTree* const tree_;
  const KeyInterval interval_;
  rocksdb::Iterator* const memtables_;
  std::vector<const PinnedTree::File*> files_;
  size_t next_file_ = 0;
  std::multimap<std::string, Block> blocks_;  // of opened files, by smallest key
};

}  // namespace

std::unique_ptr<ReadyFilterReader> ReadSstFilters(PinnedTree* tree, const KeyInterval& interval) {
  return std::make_unique<SstFilterReader>(tree, interval);
}

}  // namespace rocksieve::join
