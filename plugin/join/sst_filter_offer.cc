#include "plugin/join/sst_filter_offer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "plugin/tables/decoded_filter.h"
#include "plugin/tables/table_file.h"

namespace rocksieve::join {
namespace {

constexpr size_t kMostFilesRead = 12;
constexpr double kMemtableBytesPerKey = 10.4 / 8;
constexpr double kMemtableRate = 0.001;

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

// Of a filter of so many bits per entry, within a factor of two: the textbook's Bloom filter with
// what lines of 64 bytes cost (RocksDB's util/bloom_impl.h), a cuckoo filter whose slots are 95 %
// full (docs/design/cuckoo.md), or a ribbon filter with its overhead.
double RateFor(const std::string& policy_name, double bits) {
  const auto says = [&](const char* word) { return policy_name.find(word) != std::string::npos; };
  double rate = 1.15 * std::pow(0.6185, bits);
  if (says("ibbon") || says("auto")) rate = std::exp2(-bits / 1.04);
  if (says("cuckoo")) rate = std::exp2(2.2 - 0.95 * bits);
  return std::min(1.0, rate);
}

Share Look(rocksdb::Env* env, const PinnedTree::File& file, uint8_t* formats) {
  Share share;
  share.bytes = share.passes = static_cast<double>(file.bytes);
  std::unique_ptr<TableFile> table;
  FilterPlaces places;
  const bool has_filter = TableFile::Open(env, file.path, &table).ok() &&
                          table->FindFilter(&places).ok() && !places.partitions.empty() &&
                          places.layout != FilterLayout::kObsolete &&
                          table->properties().whole_keys_filtered;
  if (!has_filter) return share;
  const TableProperties& properties = table->properties();
  for (const FilterPartition& part : places.partitions) {
    share.filter_bytes += static_cast<double>(part.place.size);
  }
  const uint64_t entries = std::max<uint64_t>(
      1, properties.filter_entries > 0 ? properties.filter_entries : properties.entries);
  share.passes *=
      RateFor(properties.filter_policy_name, 8 * share.filter_bytes / static_cast<double>(entries));
  const bool builtin = properties.filter_policy_name.find("rocksieve") == std::string::npos;
  *formats |= BitOf(builtin ? FilterFormat::kRocksDbBuiltin : FilterFormat::kOurs);
  return share;
}

}  // namespace

ReadyOffer OfferOf(rocksdb::Env* env, const std::vector<const PinnedTree::File*>& files,
                   uint64_t memtable_entries) {
  // The largest file of each sorted run first, since runs may differ.
  std::vector<const PinnedTree::File*> by_size = files;
  std::sort(by_size.begin(), by_size.end(),
            [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  const auto run_of = [](const PinnedTree::File& file) {
    return file.level == 0 ? file.path : std::to_string(file.level);
  };
  std::map<std::string, Share> read, all;
  for (const PinnedTree::File* file : files) {
    all[run_of(*file)].bytes += static_cast<double>(file->bytes);
  }
  ReadyOffer offer;
  Share sum;
  size_t files_read = 0;
  for (const PinnedTree::File* file : by_size) {
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

}  // namespace rocksieve::join
