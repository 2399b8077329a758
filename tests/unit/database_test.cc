// SPDX-License-Identifier: Apache-2.0
// What reads the files of any database; and databases that several releases of RocksDB wrote
// (tests/databases), read with the release at hand.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "lib/format/coding.h"
#include "plugin/database/column_family.h"
#include "plugin/database/tree.h"
#include "plugin/probe/probe_tree.h"
#include "plugin/tables/decoded_filter.h"
#include "plugin/tables/table_file.h"
#include "support/progress.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

constexpr size_t kFooterBytes = 53;

class Unpacked {
 public:
  explicit Unpacked(const std::string& release) {
    std::string path = testing::TempDir() + "golden-database-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
    path_ = path;
    const std::string command =
        "tar xzf '" ROCKSIEVE_DATABASES "/rocksdb-" + release + ".tar.gz' -C '" + path + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  ~Unpacked() { fs::remove_all(path_); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  const std::string& path() const { return path_; }

  std::vector<std::string> Tables() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".sst") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

 private:
  std::string path_;
};

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

Status OpenTable(const std::string& path, std::unique_ptr<TableFile>* table) {
  return TableFile::Open(rocksdb::Env::Default(), path, table);
}

// What a table file says, but for its footer; empty if something is wrong with it.
std::string Answer(const std::string& path) {
  std::unique_ptr<TableFile> table;
  if (!OpenTable(path, &table).ok()) return "";
  const FileFilter filter(*table);
  if (!filter.problems.empty()) return "";
  std::ostringstream answer;
  const TableProperties& properties = table->properties();
  answer << properties.entries << properties.column_family_name << properties.compression_name
         << filter.stored_name << static_cast<int>(filter.layout);
  for (const auto& block : filter.blocks()) {
    answer << block->partition.place.offset << block->partition.last_key << block->bytes;
  }
  return answer.str();
}

struct Release {
  const char* name;
  size_t families;
  uint32_t format_version;  // its default
  const char* compression;  // as it writes it down
  size_t partitions;        // of the column family "partitioned"
};

void PrintTo(const Release& release, std::ostream* out) { *out << release.name; }

class GoldenDatabase : public testing::TestWithParam<Release> {
 protected:
  GoldenDatabase() : database_(GetParam().name) {}
  const Unpacked database_;
};

INSTANTIATE_TEST_SUITE_P(RocksDb, GoldenDatabase,
                         testing::Values(Release{"7.8.3", 18, 5, "ZSTD", 3},
                                         Release{"9.10.0", 21, 6, "ZSTD", 4},
                                         Release{"11.8.1", 23, 7, "BuiltinV2;07;", 3}));

std::string KeyNumber(uint64_t number) {
  char key[16];
  std::snprintf(key, sizeof(key), "key%04llu", static_cast<unsigned long long>(number));
  return key;
}

// Each column family, with all keys in its filters and few others.
void ExpectWhole(const std::string& directory, size_t families) {
  Progress progress("test");
  DatabaseTrees opened;
  const Status status = OpenAndReadTrees(directory, {}, &progress, &opened);
  ASSERT_TRUE(status.ok()) << status.ToString();
  const std::vector<Tree>& trees = opened.trees;
  ASSERT_EQ(trees.size(), families);
  for (const Tree& tree : trees) {
    SCOPED_TRACE(tree.family.name);
    EXPECT_EQ(tree.Problems(), std::vector<std::string>());
    ASSERT_EQ(tree.file_count(), 1u);
    const TreeFile& file = *tree.files()[0];
    const uint64_t keys = tree.family.name == "ribbon" ? 1500 : 150;
    EXPECT_EQ(file.properties.entries, keys);
    EXPECT_EQ(file.smallest, KeyNumber(0));
    EXPECT_EQ(file.largest, KeyNumber(keys - 1));
    EXPECT_EQ(file.properties.timestamps_persisted, tree.family.name != "stripped");
    std::shared_ptr<const TableFile> table;
    ASSERT_TRUE(OpenTable(file, &table).ok());
    const FileFilter filter(*table);
    uint64_t passed = 0;
    for (uint64_t i = 0; i < keys; i++) {
      EXPECT_TRUE(filter.MayContain(tree.family, KeyNumber(i))) << i;
      passed += filter.MayContain(tree.family, KeyNumber(i) + "x") ? 1 : 0;
    }
    const bool says_no = tree.family.name != "without-filter" && tree.family.name != "prefixes";
    EXPECT_EQ(passed < keys / 5, says_no) << passed;
    EXPECT_EQ(filter.family == "RocksDB Ribbon", tree.family.name == "ribbon");
    const bool own = tree.family.name.rfind("own-", 0) == 0;  // "own-bloom"
    EXPECT_EQ(filter.family == "rocksieve." + tree.family.name.substr(own ? 4 : 0), own);
  }
}

TEST_P(GoldenDatabase, HasEachKeyInItsFilters) {
  ExpectWhole(database_.path(), GetParam().families);
}

// Comparators, and whether keys have timestamps, are in the tables too.
TEST_P(GoldenDatabase, HasThemWithoutItsOptions) {
  for (const auto& entry : fs::directory_iterator(database_.path())) {
    if (entry.path().filename().string().rfind("OPTIONS-", 0) == 0) fs::remove(entry.path());
  }
  ExpectWhole(database_.path(), GetParam().families);
}

TEST_P(GoldenDatabase, SaysHowItsTablesWereWritten) {
  const std::map<std::string, rocksdb::ChecksumType> checksums = {
      {"crc32c", rocksdb::kCRC32c},
      {"xxhash", rocksdb::kxxHash},
      {"xxhash64", rocksdb::kxxHash64},
      {"unchecked", rocksdb::kNoChecksum}};
  for (const std::string& path : database_.Tables()) {
    std::unique_ptr<TableFile> table;
    const Status status = OpenTable(path, &table);
    ASSERT_TRUE(status.ok()) << path << ": " << status.ToString();
    const std::string& family = table->properties().column_family_name;
    SCOPED_TRACE(family);
    const uint32_t format_version =
        family.rfind("format-", 0) == 0 ? family.back() - '0' : GetParam().format_version;
    EXPECT_EQ(table->footer().format_version, format_version);
    EXPECT_EQ(table->footer().base_context_checksum != 0, format_version >= kContextFormatVersion);
    const auto checksum = checksums.find(family);
    EXPECT_EQ(table->footer().checksum,
              checksum == checksums.end() ? rocksdb::kXXH3 : checksum->second);
    const bool compressed = family == "compressed" || family == "partitioned" ||
                            family == "ribbon" || family == "own-cuckoo";
    const std::string& compression = table->properties().compression_name;
    EXPECT_EQ(CompressionInWords(compression), compressed ? "ZSTD" : "NoCompression");
    if (compressed) {
      EXPECT_EQ(compression, GetParam().compression);
    }
    const FileFilter filter(*table);
    if (family == "partitioned") {
      EXPECT_EQ(filter.blocks().size(), GetParam().partitions);
    }
  }
}

// In each bit of each footer. That of format_version 6 and later checks itself.
TEST_P(GoldenDatabase, NoticesAWrongBitInAFooter) {
  for (const std::string& path : database_.Tables()) {
    const std::string bytes = Bytes(path);
    const std::string answer = Answer(path);
    ASSERT_NE(answer, "") << path;
    const bool checked = LoadLittleEndian32(bytes.data() + bytes.size() - 12) >= 6;
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](size_t at, char byte) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(byte);
      file.flush();
    };
    for (size_t at = bytes.size() - kFooterBytes; at < bytes.size(); at++) {
      for (int bit = 0; bit < 8; bit++) {
        put(at, static_cast<char>(bytes[at] ^ 1 << bit));
        const std::string wrong = Answer(path);  // must not crash, whatever it is
        if (checked) {
          EXPECT_TRUE(wrong.empty() || wrong == answer)
              << path << ", byte " << at << " bit " << bit;
        }
      }
      put(at, bytes[at]);
    }
  }
}

// One that is as it was written, and stands elsewhere.
TEST_P(GoldenDatabase, NoticesABlockInTheWrongPlace) {
  size_t moved = 0;
  for (const std::string& path : database_.Tables()) {
    std::unique_ptr<TableFile> table;
    ASSERT_TRUE(OpenTable(path, &table).ok());
    FilterPlaces places;
    ASSERT_TRUE(table->FindFilter(&places).ok());
    if (table->footer().base_context_checksum == 0 || places.partitions.size() < 2) continue;
    const BlockPlace from = places.partitions[0].place, to = places.partitions[1].place;
    if (from.size != to.size) continue;
    const std::string bytes = Bytes(path);
    std::string wrong = bytes;
    wrong.replace(to.offset, to.size + kBlockTrailerBytes, bytes, from.offset,
                  from.size + kBlockTrailerBytes);
    Write(path, wrong);
    EXPECT_EQ(Answer(path), "") << path;
    moved++;
  }
  EXPECT_EQ(moved > 0, GetParam().format_version >= kContextFormatVersion) << moved;
}

// Files of releases to come, made of one of today: what is unknown is said by name.
class LaterTable : public testing::Test {
 protected:
  LaterTable() : database_("11.8.1"), path_(database_.Tables()[0]), bytes_(Bytes(path_)) {}

  char* footer() { return bytes_.data() + bytes_.size() - kFooterBytes; }

  // Seals the footer as it now is.
  Status Opened() {
    TableFooter seal;
    seal.checksum = static_cast<rocksdb::ChecksumType>(footer()[0]);
    seal.base_context_checksum = LoadLittleEndian32(footer() + 9);
    StoreLittleEndian32(footer() + 5, 0);
    StoreLittleEndian32(
        footer() + 5, BlockChecksum(seal, bytes_.size() - kFooterBytes, {footer(), kFooterBytes}));
    Write(path_, bytes_);
    std::unique_ptr<TableFile> table;
    return OpenTable(path_, &table);
  }

  void ExpectSaid(const std::string& what) {
    const Status status = Opened();
    EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
    for (const std::string& words : {what, std::string("a RocksDB later than 11.8")}) {
      EXPECT_NE(status.ToString().find(words), std::string::npos) << status.ToString();
    }
  }

  const Unpacked database_;
  const std::string path_;
  std::string bytes_;
};

TEST_F(LaterTable, SaysWhatIsUnknown) {
  EXPECT_TRUE(Opened().ok()) << "as it is";
  const std::string intact = bytes_;
  for (const auto& [at, byte, said] : {std::tuple(41, 8, "its format_version 8 is unknown"),
                                       {0, 5, "its checksum type 5 is unknown"},
                                       {33, 1, "its footer names a feature that is unknown"}}) {
    bytes_ = intact;
    footer()[at] = static_cast<char>(byte);
    ExpectSaid(said);
  }
}

TEST_F(LaterTable, ThatNamesMoreBytesThanItHas) {
  for (const uint32_t size : {0xFFFFFFFFu, static_cast<uint32_t>(bytes_.size() - 57)}) {
    StoreLittleEndian32(footer() + 13, size);
    const Status status = Opened();
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_NE(status.ToString().find(std::to_string(size)), std::string::npos);
  }
}

TEST(BlockFooter, SaysWhatBlocksOfItsKindDoNotHave) {
  const auto last = [](uint32_t bits) {
    std::string block("\0\0\0\0\0\0\0\0", 8);
    StoreLittleEndian32(block.data() + 4, bits | 1);
    return BlockCursor(block).status();
  };
  EXPECT_TRUE(last(0).ok());
  EXPECT_TRUE(last(uint32_t{1} << 29).ok());  // uniform keys: a hint
  for (const int bit : {28, 30, 31}) {
    const Status status = last(uint32_t{1} << bit);
    EXPECT_TRUE(status.IsNotSupported()) << bit << ": " << status.ToString();
  }
}

TEST(Compression, IsSaidInRocksDbsWords) {
  const std::pair<const char*, const char*> names[] = {{"", ""},
                                                       {"ZSTD", "ZSTD"},
                                                       {";;", "NoCompression"},
                                                       {";", "NoCompression"},
                                                       {"BuiltinV2;07;", "ZSTD"},
                                                       {"BuiltinV2;0407;more", "LZ4, ZSTD"},
                                                       {"acme;80;", "type 80"},
                                                       {"acme;0", "type 0"},
                                                       {"acme;zz07;", "type zz, ZSTD"}};
  for (const auto& [stored, words] : names) EXPECT_EQ(CompressionInWords(stored), words) << stored;
}

// Keys that look like others.

TEST(KeyBetween, LiesBetween) {
  Random random(4);
  const std::string far(200, 'k');
  const std::pair<std::string, std::string> ends[] = {
      {"a", "b"}, {"", "z"}, {"abc", "abcd"}, {far + "1", far + "9"}, {"b", "a"}};
  for (const auto& [low, high] : ends) {
    for (int i = 0; i < 100; i++) {
      const std::string key = KeyBetween(low, high, &random);
      EXPECT_GT(key, std::min(low, high));
      EXPECT_LT(key, std::max(low, high));
    }
  }
  EXPECT_EQ(KeyBetween("same", "same", &random), "same");
}

// OPTIONS files as text.

TEST(OptionsFile, FindsValuesBySectionAndName) {
  const OptionsFile file = OptionsFile::Parse(R"(
# written by hand
[Version]
  rocksdb_version=7.8.3

[DBOptions]
  wal_dir=/logs
[CFOptions "default"]
  comparator=leveldb.BytewiseComparator   # the usual
  prefix_extractor = rocksdb.FixedPrefix.8
[TableOptions/BlockBasedTable "default"]
  filter_policy=bloomfilter:10:false
[CFOptions "other"]
  comparator=my.Comparator
)");
  EXPECT_EQ(file.Value("DBOptions", "wal_dir"), "/logs");
  EXPECT_EQ(file.ColumnFamilyValue("default", "comparator"), "leveldb.BytewiseComparator");
  EXPECT_EQ(file.ColumnFamilyValue("default", "prefix_extractor"), "rocksdb.FixedPrefix.8");
  EXPECT_EQ(file.ColumnFamilyValue("other", "comparator"), "my.Comparator");
  EXPECT_EQ(file.TableValue("default", "filter_policy"), "bloomfilter:10:false");
  EXPECT_EQ(file.TableValue("other", "filter_policy"), "");
  EXPECT_EQ(file.Value("DBOptions", "nonsuch"), "");
}

TEST(OptionsFile, UndoesWhatRocksDbEscapes) {
  const OptionsFile file =
      OptionsFile::Parse("[CFOptions \"a\\#b\\:c\\\\d\"]\n  comparator=with\\#sign\\nand more\n");
  EXPECT_EQ(file.ColumnFamilyValue("a#b:c\\d", "comparator"), "with#sign\nand more");
}

// RocksDB's filters as they are predicted.

// Figures of RocksDB 7.8.3: bits per key and rates that its filter_bench and our comparisons show.
TEST(BuiltinModel, KnowsRocksDbsFilters) {
  EXPECT_NEAR(BuiltinBloom(1000000, 10).bytes * 8 / 1e6, 10, 0.01);
  EXPECT_NEAR(BuiltinBloom(1000000, 10).rate, 0.0095, 0.0005);
  EXPECT_NEAR(BuiltinRibbon(1000000, 10).bytes * 8 / 1e6, 7.03, 0.1);
  EXPECT_EQ(BuiltinBloom(0, 10).bytes, 0);
  // A few keys: Bloom after all.
  EXPECT_EQ(BuiltinRibbon(20, 10).bytes, BuiltinBloom(20, 10).bytes);
  EXPECT_NEAR(BuiltinRibbon(50000, 15.406).rate, 0.001, 1e-5);  // as RocksDB estimates
}

// Files say how many keys their filters have, and may say anything.
TEST(BuiltinModel, IsDoneWithAnyNumberOfKeys) {
  for (const size_t lines : {0, 1, 2, 100}) {
    std::string block(lines * 64, '\0');
    block += std::string("\xff\0\6\0\0", 5);
    if (lines == 0) block.insert(0, "x");
    const DecodedFilter filter = DecodedFilter::Decode(block, kBuiltinStoredName);
    for (const uint64_t keys : {uint64_t{1} << 20, uint64_t{1} << 40, UINT64_MAX}) {
      EXPECT_EQ(filter.PredictedRate(keys), 1) << lines << " lines, " << keys << " keys";
    }
  }
}

}  // namespace
}  // namespace rocksieve
