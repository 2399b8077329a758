#include "auto/live_files.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

namespace rocksieve {
namespace {

// A file takes some 0.2 ms, of a thread that is about to flush or compact.
constexpr size_t kMaxFilesRead = 1000;

// Opens the file itself: only column families whose handle is at hand can be asked for properties.
std::shared_ptr<const rocksdb::TableProperties> ReadProperties(rocksdb::DB* db,
                                                               const std::string& path) {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = false;
  table.cache_index_and_filter_blocks = true;  // else the index would be read
  rocksdb::Options options;
  options.env = db->GetEnv();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::SstFileReader reader(options);
  if (!reader.Open(path).ok()) return nullptr;
  return reader.GetTableProperties();
}

void Describe(const rocksdb::TableProperties& properties, LedgerFile* file) {
  file->entries = properties.num_entries;
  file->filter_keys =
      properties.num_filter_entries != 0 ? properties.num_filter_entries : properties.num_entries;
  file->filter_bits = 8.0 * static_cast<double>(properties.filter_size);
  file->maker = properties.filter_size == 0 ? 0 : MakerOf(properties.filter_policy_name);
}

// What is known of the files of a column family on average, for those that were not read.
struct Average {
  double bytes = 0, entries = 0, keys = 0, bits = 0;
  uint64_t maker = 0;  // of the last

  void Add(const LedgerFile& file, uint64_t file_bytes) {
    bytes += static_cast<double>(file_bytes);
    entries += static_cast<double>(file.entries);
    keys += static_cast<double>(file.filter_keys);
    bits += file.filter_bits;
    maker = file.maker;
  }
  void Describe(uint64_t file_bytes, LedgerFile* file) const {
    if (bytes == 0) return;
    const double share = static_cast<double>(file_bytes) / bytes;
    file->entries = static_cast<uint64_t>(share * entries);
    file->filter_keys = static_cast<uint64_t>(share * keys);
    file->filter_bits = share * bits;
    file->maker = maker;
  }
};

}  // namespace

void Resync(rocksdb::DB* db, DatabaseLedger* ledger) {
  if (!ledger->BeginResync()) return;
  std::string session;
  if (!db->GetDbSessionId(session).ok()) {
    ledger->CancelResync();
    return;
  }
  std::vector<rocksdb::LiveFileMetaData> listed;
  db->GetLiveFilesMetaData(&listed);
  std::vector<uint64_t> numbers;
  for (const auto& metadata : listed) numbers.push_back(metadata.file_number);
  std::unordered_map<uint64_t, LedgerFile> known = ledger->Known(numbers);

  std::vector<LiveFile> live;
  std::vector<size_t> not_read;  // indexes into both vectors
  std::unordered_map<std::string, Average> averages;
  size_t read = 0;
  std::vector<const rocksdb::LiveFileMetaData*> sources;
  for (const auto& metadata : listed) {
    if (!ledger->Follows(metadata.column_family_name)) continue;
    LiveFile file;
    file.column_family = metadata.column_family_name;
    const auto it = known.find(metadata.file_number);
    if (it != known.end()) file.file = it->second;
    file.file.number = metadata.file_number;
    file.file.range = std::make_shared<const UserKeyRange>(
        UserKeyRange{metadata.smallestkey, metadata.largestkey});
    bool is_known = it != known.end() && it->second.filter_bits >= 0;
    if (!is_known && read < kMaxFilesRead) {
      read++;
      const auto properties =
          ReadProperties(db, metadata.directory + "/" + metadata.relative_filename);
      is_known = properties != nullptr;
      if (is_known) Describe(*properties, &file.file);
    }
    if (is_known) {
      averages[file.column_family].Add(file.file, metadata.size);
    } else {
      not_read.push_back(live.size());
    }
    live.push_back(std::move(file));
    sources.push_back(&metadata);
  }
  for (const size_t i : not_read) {
    averages[live[i].column_family].Describe(sources[i]->size, &live[i].file);
  }
  ledger->Replace(session, std::move(live));
}

}  // namespace rocksieve
