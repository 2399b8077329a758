// A policy is its spec: option strings and OPTIONS files reproduce it, and what it builds.
#include <cctype>
#include <ostream>

#include <rocksdb/c.h>
#include <rocksdb/convenience.h>
#include <rocksdb/utilities/options_util.h>

#include "integration/sst_file.h"

namespace rocksieve {
namespace {

// A spec as somebody may write it, and as the policy calls itself.
struct Spelling {
  const char* written;
  const char* canonical;
};

void PrintTo(const Spelling& spelling, std::ostream* out) { *out << spelling.written; }

constexpr Spelling kSpellings[] = {
    {"rocksieve.bloom:10", "rocksieve.bloom:10"},
    {"rocksieve.bloom:13.70", "rocksieve.bloom:13.7"},
    {"rocksieve.bloom:010.000", "rocksieve.bloom:10"},
    {"rocksieve.cuckoo:12.5", "rocksieve.cuckoo:12.5"},
    {"rocksieve.cuckoo:0.1%", "rocksieve.cuckoo:0.1%"},
    {"rocksieve.ribbon:9.40", "rocksieve.ribbon:9.4"},
    {"rocksieve.bloom:1.0%", "rocksieve.bloom:1%"},
    {"rocksieve.bloom:64", "rocksieve.bloom:64"},
    {"rocksieve.bloom:50%", "rocksieve.bloom:50%"},
    {"rocksieve.bloom:0.0001%", "rocksieve.bloom:0.0001%"},
    {"rocksieve.bloom:10:salted", "rocksieve.bloom:10:salted"},
    {"rocksieve.cuckoo:2.50%:salted", "rocksieve.cuckoo:2.5%:salted"},
};

const rocksdb::FilterPolicy* PolicyOf(const rocksdb::ColumnFamilyOptions& options) {
  const auto* table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  return table == nullptr ? nullptr : table->filter_policy.get();
}

std::string PolicyIdOf(const rocksdb::ColumnFamilyOptions& options) {
  const rocksdb::FilterPolicy* policy = PolicyOf(options);
  return policy == nullptr ? "no policy" : policy->GetId();
}

std::string OptionString(const std::string& spec) {
  return "block_based_table_factory={filter_policy=" + spec +
         ";block_size=8192};compression=" + "kNoCompression;create_if_missing=true";
}

rocksdb::Options OptionsFromString(const std::string& spec) {
  rocksdb::Options base, options;
  base.env = UnsyncedEnv();
  Must(rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), base, OptionString(spec), &options));
  return options;
}

// What it builds of 3000 keys; also checks that the database works.
std::vector<std::string> FiltersBuiltWith(const rocksdb::Options& options) {
  const TemporaryDirectory directory;
  const DbPtr db = Open(options, directory / "db");
  const Oracle oracle = WriteOverlappingFiles(db.get(), 3000, 1);
  ExpectHolds(db.get(), oracle, MissingKeys(1000));
  return FilterBlocksOf(db.get());
}

class RoundTrip : public testing::TestWithParam<Spelling> {
 protected:
  // The salt is drawn anew for each filter.
  void ExpectSame(const rocksdb::ColumnFamilyOptions& options) const {
    EXPECT_EQ(PolicyIdOf(options), GetParam().canonical);
    if (std::string_view(GetParam().written).find("salted") == std::string_view::npos) {
      rocksdb::Options to_build_with(rocksdb::DBOptions(), options);
      to_build_with.create_if_missing = true;
      to_build_with.env = UnsyncedEnv();
      EXPECT_TRUE(FiltersBuiltWith(to_build_with) == filters_);
    }
  }

  const rocksdb::Options options_ = OptionsFromString(GetParam().written);
  const std::vector<std::string> filters_ = FiltersBuiltWith(DbConfig(GetParam().written).Build());
};

TEST_P(RoundTrip, ThroughTheCxxInterface) {
  EXPECT_EQ(PolicyFor(GetParam().written)->GetId(), GetParam().canonical);
  EXPECT_STREQ(PolicyFor(GetParam().written)->Name(), GetParam().canonical);
  EXPECT_EQ(filters_.size(), 1u);
}

TEST_P(RoundTrip, ThroughOptionStrings) {
  ExpectSame(options_);
  rocksdb::ConfigOptions config;
  config.depth = rocksdb::ConfigOptions::kDepthDetailed;  // else a table factory is a mere name
  std::string db_string, family_string;
  Must(rocksdb::GetStringFromDBOptions(config, options_, &db_string));
  Must(rocksdb::GetStringFromColumnFamilyOptions(config, options_, &family_string));
  EXPECT_NE(family_string.find(std::string("filter_policy=") + GetParam().canonical + ";"),
            std::string::npos)
      << family_string;
  rocksdb::DBOptions db_options;
  rocksdb::ColumnFamilyOptions family_options;
  Must(rocksdb::GetDBOptionsFromString(config, rocksdb::DBOptions(), db_string, &db_options));
  Must(rocksdb::GetColumnFamilyOptionsFromString(config, rocksdb::ColumnFamilyOptions(),
                                                 family_string, &family_options));
  ExpectSame(family_options);
}

TEST_P(RoundTrip, ThroughTableOptionStrings) {
  rocksdb::BlockBasedTableOptions table;
  Must(rocksdb::GetBlockBasedTableOptionsFromString(
      rocksdb::ConfigOptions(), rocksdb::BlockBasedTableOptions(),
      std::string("filter_policy=") + GetParam().written, &table));
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  EXPECT_EQ(PolicyIdOf(options), GetParam().canonical);
}

TEST_P(RoundTrip, ThroughTheOptionsFileOfADatabase) {
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  Oracle oracle = WriteOverlappingFiles(Open(options_, path).get(), 1000, 2);
  for (int generation = 0; generation < 2; generation++) {
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    Must(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &db_options, &families));
    ASSERT_EQ(families.size(), 1u);
    Must(rocksdb::CheckOptionsCompatibility(rocksdb::ConfigOptions(), path, db_options, families));
    ExpectSame(families[0].options);
    const DbPtr db = Open(rocksdb::Options(db_options, families[0].options), path);
    ExpectHolds(db.get(), oracle, MissingKeys(500));
    EXPECT_GT(LookUp(db.get(), MissingKeys(500)).filters_rejected, 0u);
  }
}

TEST_P(RoundTrip, ThroughTheCInterface) {
  const TemporaryDirectory directory;
  char* error = nullptr;
  rocksdb_options_t* base = rocksdb_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_get_options_from_string(base, OptionString(GetParam().written).c_str(), options, &error);
  ASSERT_STREQ(error, nullptr);
  rocksdb_t* c_db = rocksdb_open(options, (directory / "db").c_str(), &error);
  ASSERT_STREQ(error, nullptr);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  Oracle oracle;
  for (uint64_t i = 0; i < 3000; i++) {
    const std::string key = PresentKey(i), value = "value of " + key;
    oracle[key] = value;
    rocksdb_put(c_db, write, key.data(), key.size(), value.data(), value.size(), &error);
    ASSERT_STREQ(error, nullptr);
  }
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(c_db, flush, &error);
  ASSERT_STREQ(error, nullptr);
  rocksdb_close(c_db);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_writeoptions_destroy(write);
  rocksdb_options_destroy(options);
  rocksdb_options_destroy(base);

  const DbPtr db = Open(DbConfig(GetParam().written).Build(), directory / "db");
  ExpectHolds(db.get(), oracle);
  if (std::string_view(GetParam().written).find("salted") == std::string_view::npos) {
    EXPECT_TRUE(FilterBlocksOf(db.get()) == filters_);
  }
}

std::string SpellingName(const testing::TestParamInfo<Spelling>& info) {
  std::string name = std::string(info.param.written) + "_" + std::to_string(info.index);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Spellings, RoundTrip, testing::ValuesIn(kSpellings), SpellingName);

// The whole set of ways in which RocksDB asks what an object is.
TEST(PolicyIdentity, IsTheSpecButTheFilterIsStoredUnderTheBuiltInName) {
  const PolicyPtr policy = PolicyFor("rocksieve.bloom:10");
  const PolicyPtr stock(rocksdb::NewBloomFilterPolicy(10));
  EXPECT_STREQ(policy->CompatibilityName(), stock->CompatibilityName());
  EXPECT_TRUE(policy->IsInstanceOf("rocksieve"));
  EXPECT_TRUE(policy->IsInstanceOf("rocksieve.bloom:10"));
  EXPECT_FALSE(policy->IsInstanceOf("rocksieve.bloom:11"));
  EXPECT_FALSE(policy->IsInstanceOf(stock->Name()));
  FilterStats stats;
  EXPECT_TRUE(GetFilterStats(stock.get(), &stats).IsInvalidArgument());
  EXPECT_TRUE(GetFilterStats(nullptr, &stats).IsInvalidArgument());
}

// Options that are equal but for the amount are not the same to RocksDB.
TEST(PolicyIdentity, OptionsFilesTellSpecsApart) {
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  Open(OptionsFromString("rocksieve.bloom:10"), path).reset();
  rocksdb::ConfigOptions exact;
  exact.sanity_level = rocksdb::ConfigOptions::kSanityLevelExactMatch;
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Must(rocksdb::LoadLatestOptions(exact, path, &db_options, &families));
  Must(rocksdb::CheckOptionsCompatibility(exact, path, db_options, families));
  families[0].options.table_factory = OptionsFromString("rocksieve.bloom:10.00").table_factory;
  Must(rocksdb::CheckOptionsCompatibility(exact, path, db_options, families));
  families[0].options.table_factory = OptionsFromString("rocksieve.bloom:11").table_factory;
  EXPECT_FALSE(rocksdb::CheckOptionsCompatibility(exact, path, db_options, families).ok());
}

}  // namespace
}  // namespace rocksieve
