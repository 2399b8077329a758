// SPDX-License-Identifier: Apache-2.0
// `rocksieve inspect` on table files with filters of every family, intact and damaged.
#include <cmath>
#include <ostream>

#include <rocksdb/filter_policy.h>

#include "integration/command.h"
#include "integration/database.h"
#include "integration/sst_file.h"
#include "support/text.h"

namespace rocksieve {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kKeys = 20000;

struct Case {
  const char* name;
  std::function<PolicyPtr()> policy;
  const char* family;
  bool partitioned = false;
  int format_version = 5;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::function<PolicyPtr()> Ours(const char* spec) {
  return [spec] { return PolicyFor(spec); };
}
PolicyPtr BuiltinBloom() { return PolicyPtr(rocksdb::NewBloomFilterPolicy(9)); }
PolicyPtr BuiltinRibbon() { return PolicyPtr(rocksdb::NewRibbonFilterPolicy(9, -1)); }

// A database with one table file of kKeys keys.
std::string MakeTable(const Case& c, const std::string& path) {
  DbConfig config(c.policy());
  config.table.format_version = static_cast<uint32_t>(c.format_version);
  config.table.checksum = rocksdb::kCRC32c;  // RepairRocksDbChecksum() knows this one
  if (c.partitioned) config.Partitioned(2048);
  const DbPtr db = Open(config.Build(), path);
  WriteOverlappingFiles(db.get(), kKeys, 1);
  return TableFiles(db.get())[0];
}

Json Inspected(const std::string& file, const std::string& flags = "", int exit_code = 0) {
  const CommandResult result = RunCommand("inspect --json " + file + " " + flags);
  EXPECT_EQ(result.exit_code, exit_code) << result.output;
  return result.Json();
}

class Inspect : public testing::TestWithParam<Case> {};

TEST_P(Inspect, TellsWhatIsInTheFile) {
  TemporaryDirectory directory;
  const std::string file = MakeTable(GetParam(), directory / "db");
  const Json json = Inspected(file);
  const bool ours = std::string(GetParam().family).rfind("rocksieve", 0) == 0;
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["keys"], kKeys);
  EXPECT_EQ(json["family"], GetParam().family);
  EXPECT_EQ(json["layout"], GetParam().partitioned ? "partitioned" : "full");
  EXPECT_EQ(json["filter_keys"], kKeys);

  const double predicted = json["predicted_false_positive_rate"];
  const double probed = json["probed_false_positive_rate"];
  const double deviation = std::sqrt(predicted / json["probes"].get<double>());
  EXPECT_NEAR(probed, predicted, 5 * deviation + 0.06 * predicted);

  double keys = 0, passes = 0, probes = 0;
  std::string last;
  for (const Json& block : json["blocks"]) {
    keys += block["keys"].get<double>();
    passes += block["passes"].get<double>();
    probes += block["probes"].get<double>();
    EXPECT_EQ(block["family"], GetParam().family);
    EXPECT_TRUE(block["damage"].is_null());
    EXPECT_GT(block["load"].get<double>(), 0.5);
    if (!block["fill"].is_null()) {
      EXPECT_GT(block["fill"].get<double>(), 0.2);
      EXPECT_LT(block["fill"].get<double>(), 1);
    }
    if (ours) {
      EXPECT_EQ(block["header"]["key_count"], block["keys"]);
      const std::string begin = block["header"]["smallest_hex"];  // may be cut
      EXPECT_LE(last.substr(0, begin.size()), begin);
      EXPECT_LE(block["header"]["smallest_hex"], block["header"]["largest_hex"]);
      last = block["header"]["largest_hex"];
    }
  }
  EXPECT_EQ(json["blocks"].size() > 4, GetParam().partitioned);
  if (ours) {
    // The compact frame has the beginnings of both keys, with three bytes in which they differ.
    const Json& first = json["blocks"][0]["header"];
    const bool compact = first["format_version"] == 2;
    EXPECT_EQ(compact, std::string(GetParam().family) == "rocksieve.ribbon");
    const std::string smallest = first["smallest_hex"];
    EXPECT_EQ(smallest, HexBytes(PresentKey(0)).substr(0, smallest.size()));
    EXPECT_EQ(last, HexBytes(PresentKey(kKeys - 1)).substr(0, last.size()));
    EXPECT_GT(smallest.size(), HexBytes(PresentKey(0)).size() / 2);
    EXPECT_GT(last.size(), HexBytes(PresentKey(0)).size() / 2);
  }
}

TEST_P(Inspect, ShowsTheBytes) {
  TemporaryDirectory directory;
  const std::string file = MakeTable(GetParam(), directory / "db");
  const std::string bytes = ReadBytes(file);
  const Json inspected = Inspected(file, "--hex");
  for (const Json& block : inspected["blocks"]) {
    EXPECT_EQ(block["bytes_hex"], HexBytes(bytes.substr(block["offset"], block["bytes"])));
  }
  const CommandResult text = RunCommand("inspect --hex " + file);
  EXPECT_EQ(text.exit_code, 0);
  const Json first = Inspected(file)["blocks"][0];
  char offset[16];
  std::snprintf(offset, sizeof(offset), "\n%010llx  ", first["offset"].get<unsigned long long>());
  EXPECT_NE(text.output.find(offset), std::string::npos) << offset;
}

TEST_P(Inspect, NamesADamagedBlock) {
  TemporaryDirectory directory;
  const std::string file = MakeTable(GetParam(), directory / "db");
  const Json intact = Inspected(file);
  std::string bytes = ReadBytes(file);
  const Json& last = intact["blocks"].back();
  const BlockPlace place = {last["offset"].get<size_t>(), last["bytes"].get<size_t>()};
  bytes[place.offset + place.size / 2] ^= 4;
  WriteBytes(file, bytes);

  Json damaged = Inspected(file, "", 1);
  ASSERT_EQ(damaged["problems"].size(), 1u);
  const std::string where = "offset " + std::to_string(place.offset);
  EXPECT_NE(damaged["problems"][0].get<std::string>().find(where), std::string::npos);
  EXPECT_NE(damaged["problems"][0].get<std::string>().find("checksum"), std::string::npos);
  EXPECT_EQ(damaged["blocks"].back()["probed_false_positive_rate"], 1);
  EXPECT_FALSE(damaged["remedy"].is_null());

  // RocksDB's checksum was made of the damaged bytes: ours still tells.
  RepairRocksDbChecksum(&bytes, place);
  WriteBytes(file, bytes);
  const bool ours = std::string(GetParam().family).rfind("rocksieve", 0) == 0;
  damaged = Inspected(file, "", ours ? 1 : 0);
  if (ours) {
    EXPECT_NE(RunCommand("inspect " + file).output.find("its check word is 0x"), std::string::npos);
  }
}

// An entry of the index would be larger than the filter that three keys are worth.
TEST(InspectNone, AFilterThatIsNotWorthItIsNoDamage) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.auto:10");
  config.Partitioned(2048);
  const DbPtr db = Open(config.Build(), directory / "db");
  WriteOverlappingFiles(db.get(), 3, 1);
  ASSERT_EQ(StatsOf(config.table.filter_policy).built.at(0).family, "none");
  const Json json = Inspected(TableFiles(db.get())[0]);
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["family"], "none");
  EXPECT_EQ(json["layout"], "partitioned");
  EXPECT_EQ(json["predicted_false_positive_rate"], 1);
  EXPECT_EQ(json["probed_false_positive_rate"], 1);
  EXPECT_TRUE(json["blocks"][0]["damage"].is_null());
}

const Case kCases[] = {
    {"Bloom", Ours("rocksieve.bloom:9"), "rocksieve.bloom"},
    {"ThoroughBloom", Ours("rocksieve.bloom:16:thorough"), "rocksieve.bloom"},
    {"FewProbes", Ours("rocksieve.bloom:3"), "rocksieve.bloom"},
    {"Cuckoo", Ours("rocksieve.cuckoo:9.5"), "rocksieve.cuckoo"},
    {"SaltedCuckoo", Ours("rocksieve.cuckoo:1%:salted"), "rocksieve.cuckoo"},
    {"Ribbon", Ours("rocksieve.ribbon:7.5"), "rocksieve.ribbon"},
    {"OwnName", Ours("rocksieve.ribbon:8:own-name"), "rocksieve.ribbon"},
    {"PartitionedBloom", Ours("rocksieve.bloom:9"), "rocksieve.bloom", true},
    {"PartitionedRibbon", Ours("rocksieve.ribbon:6"), "rocksieve.ribbon", true},
    {"BuiltinBloom", BuiltinBloom, "RocksDB Bloom"},
    {"BuiltinRibbon", BuiltinRibbon, "RocksDB Ribbon"},
    {"LegacyBloom", BuiltinBloom, "RocksDB legacy Bloom", false, 4},
    {"PartitionedBuiltin", BuiltinBloom, "RocksDB Bloom", true},
    {"PartitionedFormat3", BuiltinBloom, "RocksDB legacy Bloom", true, 3},
};

INSTANTIATE_TEST_SUITE_P(Families, Inspect, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(InspectErrors, SayWhatIsWrong) {
  TemporaryDirectory directory;
  const std::string file = MakeTable(kCases[0], directory / "db");
  const std::string bytes = ReadBytes(file);
  const auto fails = [&](const std::string& path, const std::string& words) {
    const CommandResult result = RunCommand("inspect " + path);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
    EXPECT_NE(result.output.find(path), std::string::npos) << result.output;
  };
  fails(directory / "nonsuch.sst", "No such file");
  fails(directory / "db", "directory");
  const std::string changed = directory / "changed.sst";
  WriteBytes(changed, bytes.substr(0, bytes.size() / 2));
  fails(changed, "not the mark of a block-based table");
  WriteBytes(changed, bytes.substr(0, 20));
  fails(changed, "too short");
  WriteBytes(changed, "");
  fails(changed, "0 bytes");
  // Whatever byte of the last ones is changed: a sentence, or a report.
  for (size_t back = 1; back <= 1500; back += 1 + back / 8) {
    std::string bad = bytes;
    bad[bad.size() - back] ^= 0x55;
    WriteBytes(changed, bad);
    const CommandResult result = RunCommand("inspect " + changed);
    EXPECT_TRUE(result.exit_code >= 0 && result.exit_code <= 2) << back << result.output;
  }
}

TEST(InspectsADirectory, SaysWhatDoes) {
  TemporaryDirectory directory;
  const CommandResult result = RunCommand("inspect " + directory / "");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, testing::HasSubstr("rocksieve explain"));
}

}  // namespace
}  // namespace rocksieve
