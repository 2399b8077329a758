// SPDX-License-Identifier: Apache-2.0
// What sinks write, and that discarded rows leave no trace.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/join/sort/sorted_run.h"
#include "lib/join/text/text_rows.h"
#include "support/text.h"
#include "tests/join/counting_sink.h"

namespace rocksieve::join {
namespace {

using SidedRows = std::vector<std::tuple<std::string, std::string, Side>>;

std::string PathOf(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          ("sinks_test_" + std::to_string(getpid()) + "_" + name))
      .string();
}

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class SidesCollector final : public Sink {
 public:
  absl::Status Add(const Row& row, Side from) override {
    rows.emplace_back(row.key, row.value, from);
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    commits++;
    return absl::OkStatus();
  }
  absl::Status Discard() override { return absl::InternalError("cannot take back"); }
  SidedRows rows;
  int commits = 0;
};

// Random batches, of which some are discarded. Gives the rows that were committed.
SidedRows Play(Sink* sink, uint64_t seed) {
  std::mt19937_64 random(seed);
  SidedRows committed, pending;
  for (int i = 0; i < 3000; i++) {
    if (random() % 100 == 0) {
      const bool keep = random() % 2 == 0;
      EXPECT_TRUE((keep ? sink->Commit() : sink->Discard()).ok());
      if (keep) committed.insert(committed.end(), pending.begin(), pending.end());
      pending.clear();
    }
    std::string key(random() % 20, '\0'), value(random() % 500 == 0 ? 3 << 20 : random() % 90, 'v');
    for (char& byte : key) byte = static_cast<char>(random());
    if (!value.empty()) value[0] = static_cast<char>(random());
    const Side side = random() % 2 == 0 ? Side::kClient : Side::kServer;
    EXPECT_TRUE(sink->Add({key, value}, side).ok());
    pending.emplace_back(key, value, side);
  }
  EXPECT_TRUE(sink->Discard().ok());
  return committed;
}

// As docs/join_keys.md says how escaped text is read.
std::string Unescaped(std::string_view text) {
  constexpr std::string_view kLetters = "\\tnr0", kBytes("\\\t\n\r\0", 5);
  std::string bytes;
  for (size_t i = 0; i < text.size(); i++) {
    bytes.push_back(text[i] == '\\' ? kBytes.at(kLetters.find(text.at(++i))) : text[i]);
  }
  return bytes;
}

TEST(Tsv, EscapingIsReversible) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 4000; i++) {
    std::string bytes, escaped;
    for (size_t n = random() % 20; n > 0; n--) {
      bytes += random() % 2 ? "\\\t\n\r0tnr"[random() % 8] : static_cast<char>(random());
    }
    AppendEscapedText(bytes, &escaped);
    EXPECT_EQ(escaped.find_first_of(std::string_view("\t\n\r\0", 4)), std::string::npos);
    EXPECT_EQ(Unescaped(escaped), bytes);
  }
}

SidedRows ReadTsv(const std::string& text) {
  SidedRows rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t'), second = line.find('\t', tab + 1);
    rows.emplace_back(Unescaped(line.substr(tab + 1, second - tab - 1)),
                      Unescaped(line.substr(second + 1)),
                      line.substr(0, tab) == "local" ? Side::kClient : Side::kServer);
  }
  return rows;
}

TEST(Sinks, DiscardedRowsAreNotInAFile) {
  const std::string path = PathOf("file");
  std::ofstream(path) << "what was there before";
  SidedRows expected;
  {
    TsvSink sink(*RevocableFile::Open(path), ShowSide::kYes);
    expected = Play(&sink, 1);
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_TRUE(ReadTsv(Contents(path)) == expected);
  std::filesystem::remove(path);
}

TEST(Sinks, DiscardedRowsDoNotGoThroughAPipe) {
  const std::string path = PathOf("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = Contents(path); });
  SidedRows expected;
  {
    TsvSink sink(*RevocableFile::Open(path), ShowSide::kYes);
    expected = Play(&sink, 2);
  }
  reader.join();
  EXPECT_TRUE(ReadTsv(received) == expected);
  std::filesystem::remove(path);
}

TEST(Sinks, SpooledRowsComeOnceTheyAreCommitted) {
  SidesCollector collector;
  SpoolingSink sink(&collector);
  const SidedRows expected = Play(&sink, 3);
  EXPECT_TRUE(collector.rows == expected);
  EXPECT_GT(collector.commits, 0);
}

TEST(Sinks, CountsWhatIsCommitted) {
  CountingSink sink;
  RowCounts expected;
  for (const auto& [key, value, side] : Play(&sink, 4)) {
    (side == Side::kClient ? expected.rows_of_client : expected.rows_of_server)++;
    expected.key_bytes += key.size();
    expected.value_bytes += value.size();
  }
  EXPECT_EQ(sink.counts().rows_of_client, expected.rows_of_client);
  EXPECT_EQ(sink.counts().rows_of_server, expected.rows_of_server);
  EXPECT_EQ(sink.counts().key_bytes, expected.key_bytes);
  EXPECT_EQ(sink.counts().value_bytes, expected.value_bytes);
}

std::string AsJson(const std::string& key, const std::string& value, ShowSide sides) {
  const std::string path = PathOf("json");
  {
    JsonLinesSink sink(*RevocableFile::Open(path), sides);
    EXPECT_TRUE(sink.Add({key, value}, Side::kServer).ok());
    EXPECT_TRUE(sink.Commit().ok());
  }
  const std::string text = Contents(path);
  std::filesystem::remove(path);
  return text;
}

TEST(Sinks, JsonHasTextOrBase64) {
  EXPECT_EQ(AsJson("k\xc3\xa4", "a\"\n\x01", ShowSide::kNo),
            "{\"key\":\"k\xc3\xa4\",\"value\":\"a\\\"\\n\\u0001\"}\n");
  EXPECT_EQ(AsJson("", std::string("\0\xff", 2), ShowSide::kYes),
            "{\"side\":\"remote\",\"key\":\"\",\"value_base64\":\"AP8=\"}\n");
}

// The JSON library refuses just what is not UTF-8.
TEST(Sinks, JsonKnowsUtf8) {
  std::mt19937_64 random(5);
  int text = 0, base64 = 0;
  for (int i = 0; i < 20000; i++) {
    std::string bytes;
    for (size_t n = random() % 5; n > 0; n--) {
      bytes +=
          "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xff"[random() % 18];
    }
    bool is_text = true;
    try {
      (void)nlohmann::json(bytes).dump();
    } catch (const nlohmann::json::type_error&) {
      is_text = false;
    }
    if (i % 40 != 0 && (is_text || i % 4 != 0)) continue;
    const nlohmann::json line = nlohmann::json::parse(AsJson(bytes, "", ShowSide::kNo));
    ASSERT_EQ(line.contains("key"), is_text)
        << nlohmann::json(std::vector<uint8_t>(bytes.begin(), bytes.end()));
    if (is_text) {
      EXPECT_EQ(line["key"].get<std::string>(), bytes);
    }
    (is_text ? text : base64)++;
  }
  EXPECT_GT(text, 50);
  EXPECT_GT(base64, 500);
}

TEST(Sinks, NameTheFileThatCannotBeWritten) {
  const absl::Status missing = RevocableFile::Open("/nowhere/file").status();
  EXPECT_NE(missing.message().find("/nowhere/file"), absl::string_view::npos) << missing;
  const absl::StatusOr<std::unique_ptr<RevocableFile>> full = RevocableFile::Open("/dev/full");
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_TRUE((*full)->Append("bytes").ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*full)->Commit()));
}

}  // namespace
}  // namespace rocksieve::join
