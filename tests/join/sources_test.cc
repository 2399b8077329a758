// SPDX-License-Identifier: Apache-2.0
// Lists of keys: what is written is read, in bounded memory, and nothing else is. Sorted text as a
// source; and what sinks write, and that discarded rows leave no trace.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "lib/join/session/reconciliation.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/join/text/text_rows.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

using ReadKeys = std::vector<std::optional<std::string>>;

std::mt19937_64 SeededRandom() {
  const int seed = testing::UnitTest::GetInstance()->random_seed();
  testing::Test::RecordProperty("seed", seed);
  return std::mt19937_64(static_cast<uint64_t>(seed));
}

// Of few different bytes, so that they share much; some are longer than what zstd gives at once.
Keys SomeKeys(size_t count, size_t most_bytes, std::mt19937_64* random) {
  std::set<std::string> keys;
  std::string key;
  for (size_t i = 0; i < count; i++) {
    key.resize((*random)() % (key.size() + 1));
    const size_t more = (*random)() % (most_bytes - key.size() + 1);
    for (size_t j = 0; j < more; j++) key.push_back(static_cast<char>('a' + (*random)() % 3));
    keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

std::string Written(const Keys& keys, Compression compression = Compression::kDense) {
  KeyListWriter writer(compression);
  for (const std::string& key : keys) writer.Add(key);
  std::string bytes;
  writer.Finish(&bytes);
  return bytes;
}

absl::Status Read(std::string_view bytes, uint64_t most_keys, uint64_t longest, ReadKeys* keys) {
  return ReadKeyList(bytes, most_keys, longest, [keys](std::optional<std::string_view> key) {
    keys->push_back(key ? std::optional<std::string>(*key) : std::nullopt);
  });
}

TEST(KeyList, GivesWhatWasWritten) {
  std::mt19937_64 random = SeededRandom();
  for (const auto& [count, most_bytes] : std::initializer_list<std::pair<size_t, size_t>>{
           {0, 1}, {1, 0}, {2000, 8}, {500, 3000}, {20, 700'000}, {3, 4 << 20}}) {
    const Keys keys = SomeKeys(count, most_bytes, &random);
    const std::string bytes = Written(keys);
    for (const uint64_t longest : {UINT64_MAX, uint64_t{0}, uint64_t{most_bytes / 2}}) {
      ReadKeys expected, read;
      for (const std::string& key : keys) {
        expected.push_back(key.size() <= longest ? std::optional<std::string>(key) : std::nullopt);
      }
      for (const std::string& list : {bytes, Written(keys, Compression::kQuick)}) {
        read.clear();
        EXPECT_TRUE(Read(list, keys.size(), longest, &read).ok());
        EXPECT_TRUE(read == expected) << count << " of " << most_bytes << ", up to " << longest;
      }
    }
    ReadKeys read;
    EXPECT_EQ(keys.empty() || !Read(bytes, keys.size() - 1, UINT64_MAX, &read).ok(), true);
    EXPECT_FALSE(Read(bytes.substr(0, bytes.size() - 1), keys.size(), UINT64_MAX, &read).ok());
  }
}

TEST(KeyList, RefusesWhatIsNone) {
  const std::string whole("\0\1k\1\1x", 6);
  std::vector<std::string> lists = {std::string("\2\1k", 3),  // shares what is not there
                                    std::string("\0\xff\xff\xff\xff\1", 6),  // too long a key
                                    std::string("\0\x80\0k", 4)};  // not the shortest form
  for (size_t bytes = 1; bytes < whole.size(); bytes++) {
    if (bytes != 3) lists.push_back(whole.substr(0, bytes));
  }
  lists.push_back(std::string(100, '\xff'));
  for (const std::string& raw : lists) {
    std::string bytes;
    AppendCompressed(raw, &bytes);
    ReadKeys read;
    EXPECT_FALSE(Read(bytes, 100, UINT64_MAX, &read).ok()) << testing::PrintToString(raw);
  }
  std::string bytes;
  AppendCompressed(whole, &bytes);
  ReadKeys read;
  EXPECT_TRUE(Read(bytes, 2, UINT64_MAX, &read).ok());
  EXPECT_EQ(read, (ReadKeys{"k", "kx"}));
}

TEST(KeyList, IsNotCollectedBeyondTheLimit) {
  std::mt19937_64 random = SeededRandom();
  MemorySource::Rows rows;
  std::vector<uint32_t> ordinals;
  for (uint32_t i = 0; i < 40; i++) {
    std::string key = std::to_string(100 + i);
    while (key.size() < size_t{256} << 10) key.push_back(static_cast<char>(random()));
    rows.emplace_back(key, "");
    ordinals.push_back(i);
  }
  MemorySource source(rows);
  const KeyReader reader = ReaderOf(&source, {});
  std::string bytes;
  const absl::Status status = reader(ordinals, Compression::kDense, 3 << 20, &bytes);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(reader(ordinals, Compression::kDense, 20 << 20, &bytes).ok());
  ReadKeys read;
  EXPECT_TRUE(Read(bytes, ordinals.size(), UINT64_MAX, &read).ok());
  ASSERT_EQ(read.size(), rows.size());
  for (size_t i = 0; i < rows.size(); i++) EXPECT_TRUE(read[i] == rows[i].first);
}

class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("text_source_test_" + std::to_string(getpid()))) {
    Write(text);
  }
  ~TextFile() { std::filesystem::remove(path_); }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

Table ReadText(const std::string& text) {
  const TextFile file(text);
  const auto source = SortedTextSource::Open(file.path());
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? ReadRows(source->get()) : Table();
}

TEST(SortedText, LinesAreKeysOrKeysAndValues) {
  EXPECT_EQ(ReadText(""), Table());
  EXPECT_EQ(ReadText("\n"), (Table{{"", ""}}));
  EXPECT_EQ(ReadText("a"), (Table{{"a", ""}}));
  EXPECT_EQ(ReadText("a\nb"), (Table{{"a", ""}, {"b", ""}}));
  EXPECT_EQ(ReadText("a\t1\t2\na\t\nb\r\n"), (Table{{"a", "1\t2"}, {"a", ""}, {"b\r", ""}}));
  EXPECT_EQ(ReadText("a\\tb\n"), (Table{{"a\\tb", ""}}));
  EXPECT_EQ(ReadText("\xff\n"), (Table{{"\xff", ""}}));
  const std::string huge(5 << 20, 'h');
  EXPECT_TRUE(ReadText("a\nh\t" + huge + "\nz\n") == (Table{{"a", ""}, {"h", huge}, {"z", ""}}));
}

TEST(SortedText, SaysWhichLineIsWrong) {
  const TextFile file("a\nc\tb\nb\n");
  const absl::Status unsorted = SortedTextSource::Open(file.path()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(unsorted));
  EXPECT_NE(unsorted.message().find(file.path() + ", line 3: "), absl::string_view::npos)
      << unsorted;
  const absl::Status missing = SortedTextSource::Open("/nowhere").status();
  EXPECT_NE(missing.message().find("/nowhere"), absl::string_view::npos) << missing;
  EXPECT_FALSE(SortedTextSource::Open("/dev/null").ok());
  const auto cancelled = [] { return absl::CancelledError("enough"); };
  EXPECT_TRUE(absl::IsCancelled(SortedTextSource::Open(file.path(), cancelled).status()));
}

TEST(SortedText, NoticesAChangedFile) {
  TextFile file("a\nb\n");
  const auto source = SortedTextSource::Open(file.path());
  ASSERT_TRUE(source.ok());
  file.Write("a\nb\nc\n");
  const std::unique_ptr<Cursor> cursor = (*source)->Scan({});
  Row row;
  while (cursor->Next(&row)) {
  }
  EXPECT_NE(cursor->status().message().find("was changed"), absl::string_view::npos);
}

// Many marks, keys that repeat across them, and any interval.
TEST(SortedText, GivesAnyInterval) {
  std::mt19937_64 random(2);
  Table rows;
  for (int i = 0; i < 20000; i++) {
    rows.emplace_back(std::to_string(random() % 3000), std::string(random() % 150, 'v'));
  }
  std::string unsorted, sorted;
  for (const auto& [key, value] : rows) unsorted += key + '\t' + value + '\n';
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, value] : rows) sorted += key + '\t' + value + '\n';

  EXPECT_FALSE(SortedTextSource::Open(TextFile(unsorted).path()).ok());
  const TextFile file(sorted);
  const auto source = SortedTextSource::Open(file.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->EstimateKeys(), KeysOf(rows).size());
  for (int i = 0; i < 200; i++) {
    KeyInterval interval{i == 0 ? "" : std::to_string(random() % 3000), std::nullopt};
    if (i % 3 != 0) interval.end = std::to_string(random() % 3000);
    ASSERT_TRUE(ReadRows(source->get(), interval) == RowsWithin(rows, interval));
  }
}

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

// Random batches, of which some are discarded. Gives the rows that were committed.
Result Play(Sink* sink, uint64_t seed) {
  std::mt19937_64 random(seed);
  Result committed, pending;
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

Result ReadTsv(const std::string& text) {
  Result rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t'), second = line.find('\t', tab + 1);
    rows.emplace_back(Unescaped(line.substr(tab + 1, second - tab - 1)),
                      Unescaped(line.substr(second + 1)),
                      line.substr(0, tab) == "local" ? Side::kClient : Side::kServer);
  }
  return rows;
}

TEST(Sinks, DiscardedRowsAreInNoFileAndNoPipe) {
  for (const bool pipe : {false, true}) {
    const std::string path = PathOf("rows");
    std::string received;
    std::thread reader;
    if (pipe) {
      ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
      reader = std::thread([&] { received = Contents(path); });
    } else {
      std::ofstream(path) << "what was there before";
    }
    const Result expected = [&path] {
      TextSink sink(*RevocableFile::Open(path), TextSink::Format::kTsv, /*shows_sides=*/true);
      return Play(&sink, 1);
    }();
    if (pipe) reader.join();
    EXPECT_FALSE(expected.empty());
    EXPECT_TRUE(ReadTsv(pipe ? received : Contents(path)) == expected);
    std::filesystem::remove(path);
  }
}

// In memory and in a file, and some rows larger than what is kept in memory.
TEST(Sinks, SpooledRowsComeInTheirOrder) {
  std::mt19937_64 random(3);
  RowSpool spool("", /*memory_bytes=*/2000);
  for (const int rows : {0, 5, 1000, 30, 2000}) {
    Result expected;
    for (int i = 0; i < rows; i++) {
      const std::string key(random() % 20, 'k');
      const std::string value(random() % 50 == 0 ? 5000 : random() % 90, static_cast<char>(i));
      const Side side = random() % 2 == 0 ? Side::kClient : Side::kServer;
      EXPECT_TRUE(spool.Add({key, value}, side).ok());
      expected.emplace_back(key, value, side);
    }
    for (int time = 0; time < 2; time++) {
      Result found;
      EXPECT_TRUE(spool
                      .Visit([&found](const Row& row, Side from) {
                        found.emplace_back(row.key, row.value, from);
                        return absl::OkStatus();
                      })
                      .ok());
      EXPECT_TRUE(found == expected) << rows << " rows, time " << time;
    }
    EXPECT_TRUE(spool.Clear().ok());
  }
}

std::string AsJson(const std::string& key, const std::string& value, bool shows_sides) {
  const std::string path = PathOf("json");
  {
    TextSink sink(*RevocableFile::Open(path), TextSink::Format::kJson, shows_sides);
    EXPECT_TRUE(sink.Add({key, value}, Side::kServer).ok());
    EXPECT_TRUE(sink.Commit().ok());
  }
  const std::string text = Contents(path);
  std::filesystem::remove(path);
  return text;
}

TEST(Sinks, JsonHasTextOrBase64) {
  EXPECT_EQ(AsJson("k\xc3\xa4", "a\"\n\x01", false),
            "{\"key\":\"k\xc3\xa4\",\"value\":\"a\\\"\\n\\u0001\"}\n");
  EXPECT_EQ(AsJson("", std::string("\0\xff", 2), true),
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
    const nlohmann::json line = nlohmann::json::parse(AsJson(bytes, "", false));
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
  // What is not written is no damage.
  const auto closed = RevocableFile::OfDescriptor(open("/dev/null", O_RDONLY), "a closed output");
  ASSERT_TRUE(closed.ok() && (*closed)->Append("bytes").ok());
  EXPECT_TRUE(absl::IsInternal((*closed)->Commit()));
}

}  // namespace
}  // namespace rocksieve::join
