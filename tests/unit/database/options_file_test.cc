// OPTIONS files as text.
#include "plugin/database/options_file.h"

#include <gtest/gtest.h>

namespace rocksieve::tools {
namespace {

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

TEST(OptionsFile, TakesAnyText) {
  for (const char* text : {"", "[", "]", "[]", "=", "[x", "a=b", "\\", "[\"]\n=\\"}) {
    EXPECT_EQ(OptionsFile::Parse(text).Value("DBOptions", "a"), "") << text;
  }
}

}  // namespace
}  // namespace rocksieve::tools
