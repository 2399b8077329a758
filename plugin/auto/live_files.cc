#include "plugin/auto/live_files.h"

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

// Opens files by itself: of the database's own, only those of column families whose handle is at
// hand could be asked for.
class PropertyReader {
 public:
  explicit PropertyReader(rocksdb::DB* db) {
    rocksdb::BlockBasedTableOptions table;
    table.cache_index_and_filter_blocks = true;  // else the index would be read
    options_.env = db->GetEnv();
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  }

  // False once it has read enough, or if the file cannot be read.
  bool Read(const rocksdb::LiveFileMetaData& metadata, RegisteredFile* file) {
    if (files_read_ == kMaxFilesRead) return false;
    files_read_++;
    rocksdb::SstFileReader reader(options_);
    if (!reader.Open(metadata.directory + "/" + metadata.relative_filename).ok()) return false;
    Describe(*reader.GetTableProperties(), file);
    return true;
  }

 private:
  static void Describe(const rocksdb::TableProperties& properties, RegisteredFile* file) {
    file->entries = properties.num_entries;
    file->filter_keys =
        properties.num_filter_entries != 0 ? properties.num_filter_entries : properties.num_entries;
    file->filter_bits = 8.0 * static_cast<double>(properties.filter_size);
    file->policy_id = properties.filter_size == 0 ? 0 : PolicyId(properties.filter_policy_name);
  }

  rocksdb::Options options_;
  size_t files_read_ = 0;
};

// What is known of the files of a column family on average, for those that were not read.
struct Average {
  double bytes = 0, entries = 0, keys = 0, bits = 0;
  uint64_t policy_id = 0;  // of the last

  void Add(const RegisteredFile& file, uint64_t file_bytes) {
    bytes += static_cast<double>(file_bytes);
    entries += static_cast<double>(file.entries);
    keys += static_cast<double>(file.filter_keys);
    bits += file.filter_bits;
    policy_id = file.policy_id;
  }
  void Describe(uint64_t file_bytes, RegisteredFile* file) const {
    if (bytes == 0) return;
    const double share = static_cast<double>(file_bytes) / bytes;
    file->entries = static_cast<uint64_t>(share * entries);
    file->filter_keys = static_cast<uint64_t>(share * keys);
    file->filter_bits = share * bits;
    file->policy_id = policy_id;
  }
};

// The files of the column families that are followed, with what is known or can be read of them.
std::vector<LiveFile> Describe(rocksdb::DB* db,
                               const std::vector<rocksdb::LiveFileMetaData>& listed,
                               const LiveFileRegistry& registry) {
  std::vector<uint64_t> numbers;
  for (const rocksdb::LiveFileMetaData& metadata : listed) numbers.push_back(metadata.file_number);
  const std::unordered_map<uint64_t, RegisteredFile> known = registry.Known(numbers);
  PropertyReader reader(db);
  std::vector<LiveFile> live;
  std::unordered_map<std::string, Average> averages;
  std::vector<std::pair<size_t, uint64_t>> not_read;  // index in `live`, size of the file
  for (const rocksdb::LiveFileMetaData& metadata : listed) {
    if (!registry.Follows(metadata.column_family_name)) continue;
    LiveFile described = {metadata.column_family_name, RegisteredFile()};
    RegisteredFile& file = described.file;
    const auto it = known.find(metadata.file_number);
    const bool is_known = it != known.end() && it->second.filter_bits >= 0;
    if (is_known) file = it->second;
    file.number = metadata.file_number;
    file.range = std::make_shared<const UserKeyRange>(
        UserKeyRange{metadata.smallestkey, metadata.largestkey});
    if (is_known || reader.Read(metadata, &file)) {
      averages[described.column_family].Add(file, metadata.size);
    } else {
      not_read.push_back({live.size(), metadata.size});
    }
    live.push_back(std::move(described));
  }
  for (const auto& [index, bytes] : not_read) {
    averages[live[index].column_family].Describe(bytes, &live[index].file);
  }
  return live;
}

}  // namespace

void Resync(rocksdb::DB* db, LiveFileRegistry* registry) {
  if (!registry->BeginResync()) return;
  std::string session;
  if (!db->GetDbSessionId(session).ok()) {
    registry->CancelResync();
    return;
  }
  std::vector<rocksdb::LiveFileMetaData> listed;
  db->GetLiveFilesMetaData(&listed);
  registry->Replace(session, Describe(db, listed, *registry));
}

}  // namespace rocksieve
