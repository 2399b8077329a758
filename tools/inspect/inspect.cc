// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/inspect.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string_view>

#include <rocksdb/version.h>

#include "lib/format/block.h"
#include "lib/format/coding.h"
#include "plugin/database/snapshot_files.h"
#include "plugin/database/tree.h"
#include "plugin/tables/table_file.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr uint64_t kSeed = 20260103;
constexpr uint64_t kProbes = 1000000;
constexpr uint64_t kFewestProbes = 10000;  // per block

// Filters hash their keys, so that random bytes are as good as any missing key.
uint64_t CountPasses(const DecodedFilter& filter, uint64_t probes, std::mt19937_64* random) {
  uint64_t passes = 0;
  char key[16];
  for (uint64_t i = 0; i < probes; i++) {
    const uint64_t parts[2] = {(*random)(), i};
    std::memcpy(key, parts, sizeof(key));
    passes += filter.MayContain({key, sizeof(key)}) ? 1 : 0;
  }
  return passes;
}

// Places and marks of docs/formats/block.md, the same in all versions.
constexpr size_t kHeadBytes = 4, kTailFromEnd = 9, kTrailerFromEnd = 5, kCheckFromEnd = 17;
constexpr std::string_view kHead("\x8ARKS", 4), kTail("SKR\x8A", 4), kTrailer("\xFFR\0S1", 5);

uint64_t StoredCheckWord(std::string_view block) {
  return LoadLittleEndian64(block.data() + block.size() - kCheckFromEnd);
}

// What is wrong with a damaged block of ours, as far as its bytes tell: a line for each mark or
// check that does not hold.
Json DamagedParts(std::string_view block) {
  Json parts = Json::array();
  const auto check = [&](const char* name, std::string_view found, std::string_view wanted) {
    if (found == wanted) return;
    parts.push_back(std::string("its ") + name + " is " + HexBytes(found) + " and should be " +
                    HexBytes(wanted));
  };
  if (block.size() < kLeastBlockBytes) {
    parts.push_back("it has " + std::to_string(block.size()) + " bytes and should have " +
                    std::to_string(kLeastBlockBytes) + " at least");
    return parts;
  }
  const size_t end = block.size();
  check("head magic", block.substr(0, kHeadBytes), kHead);
  check("tail magic", block.substr(end - kTailFromEnd, kTail.size()), kTail);
  check("trailer", block.substr(end - kTrailerFromEnd), kTrailer);
  const uint64_t stored = StoredCheckWord(block);
  const uint64_t right = XXH3_64bits(block.data(), end - kCheckFromEnd);
  if (stored != right) {
    parts.push_back("its check word is " + HexNumber(stored) + " and should be " +
                    HexNumber(right) + " for these bytes");
  } else if (parts.empty()) {
    parts.push_back(
        "its check word is right, but its lengths or its payload are not as rocksieve writes them");
  }
  return parts;
}

// By FilterLayout, and by rocksdb::ChecksumType.
constexpr const char* kLayouts[] = {"none", "full", "partitioned", "obsolete"};
constexpr const char* kChecksums[] = {"none", "CRC-32C", "xxHash", "xxHash64", "XXH3"};

Json HeaderOf(const FilterBlockOfFile& block) {
  if (block.decoded.kind != BlockKind::kOurs) return nullptr;
  const FilterBlockInfo& info = block.decoded.info;
  return {{"format_version", static_cast<uint8_t>(block.bytes[4])},
          {"family_number", static_cast<int>(info.family)},
          {"parameter", info.parameter},
          {"key_count", info.key_count},
          {"salt_hex", info.salted ? Json(HexNumber(info.salt)) : Json(nullptr)},
          {"check_word_hex", HexNumber(StoredCheckWord(block.bytes))},
          {"smallest_hex", HexBytes(info.smallest)},
          {"largest_hex", HexBytes(info.largest)},
          {"largest_cut", info.largest_cut}};
}

double BitsPerKey(uint64_t bytes, uint64_t keys) {
  return 8 * static_cast<double>(bytes) / static_cast<double>(keys);
}

Json PartsOf(const DecodedFilter& filter) {
  Json parts = Json::array();
  for (const RangePart& part : filter.parts()) {
    parts.push_back(
        {{"kind", part.kind},
         {"depth_bytes", part.depth == 0 ? Json(nullptr) : Json(part.depth)},
         {"exact", part.is_exact},
         {"entries", part.entries},
         {"bytes", part.bytes},
         {"bits_per_entry",
          part.entries > 0 ? Json(BitsPerKey(part.bytes, part.entries)) : Json(nullptr)},
         {"predicted_pass_rate", part.is_exact ? 0 : part.rate}});
  }
  return parts;
}

Json BlockJson(const FilterBlockOfFile& block, bool partitioned, uint64_t probes, uint64_t passes,
               bool hex) {
  const FilterLoad load = block.decoded.Load(block.entries);
  const BlockPlace& place = block.partition.place;
  const double rate = static_cast<double>(passes) / static_cast<double>(probes);
  const bool damaged =
      !block.damage.empty() && OpenFilter(block.bytes).state == BlockState::kDamaged;
  Json json = {
      {"offset", place.offset},
      {"bytes", place.size},
      {"keys", block.entries},
      {"bits_per_key",
       block.entries > 0 ? Json(BitsPerKey(place.size, block.entries)) : Json(nullptr)},
      {"family", block.decoded.Family()},
      {"parameters", TextOrNull(block.decoded.Parameters())},
      {"parts", PartsOf(block.decoded)},
      {"predicted_false_positive_rate", NumberOrNull(block.decoded.PredictedRate(block.entries))},
      {"probed_false_positive_rate", probes > 0 ? Json(rate) : Json(nullptr)},
      {"probes", probes},
      {"passes", passes},
      {"load", load.unit.empty() ? Json(nullptr) : Json(load.load)},
      {"load_unit", TextOrNull(load.unit)},
      {"fill", load.fill_of.empty() ? Json(nullptr) : Json(load.fill)},
      {"fill_of", TextOrNull(load.fill_of)},
      {"last_key_hex", partitioned ? Json(HexBytes(block.partition.last_key)) : Json(nullptr)},
      {"header", HeaderOf(block)},
      {"damage", TextOrNull(block.damage)}};
  if (damaged) json["damaged_parts"] = DamagedParts(block.bytes);
  if (hex) json["bytes_hex"] = HexBytes(block.bytes);
  return json;
}

// The blocks, each probed; and the rate of all, weighted by keys; null if nothing can be probed.
// Ends early when the user interrupts.
Json BlocksJson(const FileFilter& filter, bool hex, Progress* progress, uint64_t* all_probes,
                Json* all_rate) {
  progress->Begin("asking filter blocks for random keys", filter.blocks().size());
  const bool partitioned = filter.layout == FilterLayout::kPartitioned;
  std::mt19937_64 random(kSeed);
  double weights = 0, weighted_passes = 0;
  Json json = Json::array();
  for (const auto& block : filter.blocks()) {
    uint64_t probes = 0, passes = 0;
    if (block->decoded.kind != BlockKind::kUnknown) {
      probes = std::max(kProbes / filter.blocks().size(), kFewestProbes);
      passes = CountPasses(block->decoded, probes, &random);
      const auto weight = static_cast<double>(std::max<uint64_t>(block->entries, 1));
      weights += weight;
      weighted_passes += weight * static_cast<double>(passes) / static_cast<double>(probes);
      *all_probes += probes;
    }
    json.push_back(BlockJson(*block, partitioned, probes, passes, hex));
    if (!progress->Advance()) break;
  }
  if (weights > 0 && filter.can_be_asked) *all_rate = weighted_passes / weights;
  return json;
}

// `footer`: null of a filter by itself.
Json FileJson(const std::string& path, uint64_t bytes, const TableProperties& properties,
              const TableFooter* footer = nullptr) {
  return {{"rocksieve_version", ROCKSIEVE_VERSION},
          {"rocksdb_version", rocksdb::GetRocksVersionAsString()},
          {"file", path},
          {"file_bytes", bytes},
          {"format_version", footer == nullptr ? Json() : Json(footer->format_version)},
          {"checksum",
           footer == nullptr ? Json() : Json(kChecksums[static_cast<size_t>(footer->checksum)])},
          {"compression", TextOrNull(CompressionInWords(properties.compression_name))},
          {"keys", properties.entries},
          {"deletions", properties.deletions},
          {"column_family", TextOrNull(properties.column_family_name)},
          {"comparator", TextOrNull(properties.comparator_name)},
          {"filter_policy", TextOrNull(properties.filter_policy_name)},
          {"prefix_extractor", TextOrNull(properties.prefix_extractor_name)},
          {"filters_whole_keys", properties.whole_keys_filtered},
          {"filters_prefixes",
           properties.prefixes_filtered && !properties.prefix_extractor_name.empty()}};
}

// Of a file that is no table: whether it is one of `rocksieve filter build`, by the marks at its
// ends, of which one may be damaged; then all of its bytes.
bool ReadFilterFile(const std::string& path, std::string* bytes) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string marks(kHeadBytes + kTailFromEnd, '\0');
  file.read(marks.data(), kHeadBytes).seekg(-std::streamoff{kTailFromEnd}, std::ios::end);
  file.read(marks.data() + kHeadBytes, kTailFromEnd).seekg(0);
  if (!file || OpenFilter(marks).state == BlockState::kForeign) return false;
  bytes->assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

// What there is to say of such a file: what a table has besides is null.
Json FilterFileJson(const std::string& path, const std::string& bytes, bool hex) {
  FilterBlockOfFile block;
  block.bytes = bytes;
  block.decoded = DecodedFilter::Decode(block.bytes, kOwnStoredName);
  block.partition.place.size = bytes.size();
  const bool intact = block.decoded.kind == BlockKind::kOurs;
  if (!intact) {
    block.damage = block.decoded.kind == BlockKind::kFutureVersion
                       ? "the filter is of a later version of rocksieve"
                       : "the filter is damaged";
  }
  const uint64_t keys = intact ? block.decoded.info.key_count : 0;
  block.entries = keys;
  std::mt19937_64 random(kSeed);
  const uint64_t probes = intact ? kProbes : 0;
  const uint64_t passes = CountPasses(block.decoded, probes, &random);
  const Json described = BlockJson(block, /*partitioned=*/false, probes, passes, hex);
  Json json = FileJson(path, bytes.size(), TableProperties());
  json.update({{"keys", keys},
               {"ok", intact},
               {"layout", "full"},
               {"stored_as", nullptr},
               {"offset", 0},
               {"filter_bytes", bytes.size()},
               {"filter_keys", keys},
               {"bits_per_key", keys > 0 ? BitsPerKey(bytes.size(), keys) : 0}});
  for (const char* field : {"family", "parameters", "predicted_false_positive_rate",
                            "probed_false_positive_rate"}) {
    json[field] = described[field];
  }
  json.update({{"probes", probes},
               {"blocks", Json::array({described})},
               {"problems", intact ? Json::array() : Json::array({block.damage})},
               {"remedy", intact ? Json(nullptr)
                                 : Json("Build it again from its keys: rocksieve filter build. "
                                        "Until then, take every key for one that may be in it.")}});
  return json;
}

Status CannotRead(const std::string& path, const Status& status) {
  const std::string what = "cannot inspect " + path + ": " + MessageOf(status);
  const char* remedy = "";
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    remedy = "\nName one of its table files (*.sst), or ask rocksieve explain about all of them.";
  } else if (status.IsNotFound() || status.IsPathNotFound()) {
    remedy = "\nName a table file (*.sst) of a RocksDB database.";
  } else if (status.IsCorruption()) {
    remedy =
        "\nDoes its database list it? rocksieve explain --db=DIR names the damaged files that are "
        "listed. One that is not was left by a process that ended while it wrote: RocksDB deletes "
        "it. Else restore the file, or repair a copy of the database: ldb repair --db=COPY";
  } else if (what.find("Permission denied") != std::string::npos) {
    remedy = "\nRun it as the user who owns the file, or on a copy.";
  }
  return Status::InvalidArgument(what + remedy);
}

}  // namespace

Status Inspect(const std::string& path, bool hex, Progress* progress, Json* inspection) {
  std::unique_ptr<TableFile> file;
  const Status status = TableFile::Open(ReadOnlyEnv(), path, &file);
  std::string bytes;
  if (!status.ok() && ReadFilterFile(path, &bytes)) {
    *inspection = FilterFileJson(path, bytes, hex);
    return Status::OK();
  }
  if (!status.ok()) return CannotRead(path, status);
  const FileFilter filter(*file);
  const bool exists = filter.layout != FilterLayout::kNone;
  const bool intact = filter.problems.empty();
  uint64_t probes = 0;
  Json probed_rate;
  const Json blocks = BlocksJson(filter, hex, progress, &probes, &probed_rate);
  if (InterruptSignal() != 0) return Status::Aborted("interrupted");
  *inspection = FileJson(file->path(), file->bytes(), file->properties(), &file->footer());
  inspection->update(
      {{"ok", intact},
       {"layout", kLayouts[static_cast<size_t>(filter.layout)]},
       {"stored_as", TextOrNull(filter.stored_name)},
       {"offset", exists ? Json(filter.top().offset) : Json(nullptr)},
       {"filter_bytes", filter.bytes},
       {"filter_keys", filter.entries},
       {"bits_per_key", filter.entries > 0 ? BitsPerKey(filter.bytes, filter.entries) : 0},
       {"family", filter.family},
       {"parameters", TextOrNull(filter.parameters)},
       {"predicted_false_positive_rate",
        exists ? NumberOrNull(filter.PredictedRate()) : Json(nullptr)},
       {"probed_false_positive_rate", probed_rate},
       {"probes", probes},
       {"blocks", blocks},
       {"problems", filter.problems},
       {"remedy", intact ? Json(nullptr)
                         : Json("No key is lost: lookups read the file as if it had no filter "
                                "there. A compaction of the file writes a new one.")}});
  return status;
}

}  // namespace rocksieve::tools
