// Sorted and unsorted text as sources.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/text/text_source.h"

namespace rocksieve::join {
namespace {

using TextRows = std::vector<std::pair<std::string, std::string>>;

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

TextRows RowsOf(Source* source, const KeyInterval& interval = {}) {
  TextRows rows;
  const std::unique_ptr<Cursor> cursor = source->Scan(interval);
  Row row;
  while (cursor->Next(&row)) rows.emplace_back(row.key, row.value);
  EXPECT_TRUE(cursor->status().ok()) << cursor->status();
  return rows;
}

TextRows ReadText(const std::string& text, TextFormat format = TextFormat::kPlain) {
  const TextFile file(text);
  const auto source = SortedTextSource::Open(file.path(), format);
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? RowsOf(source->get()) : TextRows();
}

TEST(SortedText, LinesAreKeysOrKeysAndValues) {
  EXPECT_EQ(ReadText(""), TextRows());
  EXPECT_EQ(ReadText("\n"), (TextRows{{"", ""}}));
  EXPECT_EQ(ReadText("a"), (TextRows{{"a", ""}}));
  EXPECT_EQ(ReadText("a\nb"), (TextRows{{"a", ""}, {"b", ""}}));
  EXPECT_EQ(ReadText("a\t1\t2\na\t\nb\r\n"), (TextRows{{"a", "1\t2"}, {"a", ""}, {"b\r", ""}}));
  EXPECT_EQ(ReadText("a\\tb\n"), (TextRows{{"a\\tb", ""}}));
  EXPECT_EQ(ReadText("\\0\t\\n\na\\tb\tc\\\\\\r\n", TextFormat::kEscaped),
            (TextRows{{std::string(1, '\0'), "\n"}, {"a\tb", "c\\\r"}}));
  EXPECT_EQ(ReadText("\xff\n"), (TextRows{{"\xff", ""}}));
  const std::string huge(5 << 20, 'h');
  EXPECT_TRUE(ReadText("a\nh\t" + huge + "\nz\n") == (TextRows{{"a", ""}, {"h", huge}, {"z", ""}}));
}

TEST(SortedText, EscapingIsReversible) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; i++) {
    std::string bytes[2];
    for (std::string& text : bytes) {
      for (size_t n = random() % 20; n > 0; n--) {
        text += random() % 2 ? "\\\t\n\r0tnr"[random() % 8] : static_cast<char>(random());
      }
    }
    std::string line;
    AppendEscapedForTsv(bytes[0], &line);
    line += '\t';
    AppendEscapedForTsv(bytes[1], &line);
    EXPECT_EQ(line.find_first_of(std::string_view("\n\r\0", 3)), std::string::npos);
    LineParser parser(TextFormat::kEscaped);
    Row row;
    ASSERT_TRUE(parser.Parse(line, &row)) << line;
    EXPECT_EQ(row.key, bytes[0]);
    EXPECT_EQ(row.value, bytes[1]);
  }
}

TEST(SortedText, SaysWhichLineIsWrong) {
  const TextFile file("a\nc\tb\nb\n");
  const absl::Status unsorted = SortedTextSource::Open(file.path()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(unsorted));
  EXPECT_NE(unsorted.message().find(file.path() + ", line 3: "), absl::string_view::npos)
      << unsorted;
  const TextFile escaped("a\nb\\x\n");
  const absl::Status damaged =
      SortedTextSource::Open(escaped.path(), TextFormat::kEscaped).status();
  EXPECT_NE(damaged.message().find(", line 2: "), absl::string_view::npos) << damaged;
  const absl::Status missing = SortedTextSource::Open("/nowhere").status();
  EXPECT_NE(missing.message().find("/nowhere"), absl::string_view::npos) << missing;
  EXPECT_FALSE(SortedTextSource::Open("/dev/null").ok());
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

TEST(Text, IsReadFromTheStandardInput) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int before = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  const std::string text = "b\t2\na\t1\nb\t3";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const auto source = SortText("-", TextFormat::kPlain);
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(RowsOf(source->get()), (TextRows{{"a", "1"}, {"b", "2"}, {"b", "3"}}));
}

// Many marks, keys that repeat across them, and any interval.
TEST(Text, SortedAndUnsortedTextGiveTheSame) {
  std::mt19937_64 random(2);
  TextRows rows;
  for (int i = 0; i < 20000; i++) {
    rows.emplace_back(std::to_string(random() % 3000), std::string(random() % 150, 'v'));
  }
  std::string unsorted, sorted;
  for (const auto& [key, value] : rows) unsorted += key + '\t' + value + '\n';
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, value] : rows) sorted += key + '\t' + value + '\n';

  const TextFile file(unsorted);
  SortOptions options;
  options.memory_bytes = 200000;
  const auto external = SortText(file.path(), TextFormat::kPlain, options);
  ASSERT_TRUE(external.ok()) << external.status();
  EXPECT_FALSE(SortedTextSource::Open(file.path()).ok());
  TextFile again(sorted);
  const auto in_place = SortedTextSource::Open(again.path());
  ASSERT_TRUE(in_place.ok()) << in_place.status();
  EXPECT_EQ((*in_place)->EstimateKeys(), (*external)->EstimateKeys());
  for (int i = 0; i < 200; i++) {
    KeyInterval interval{i == 0 ? "" : std::to_string(random() % 3000), std::nullopt};
    if (i % 3 != 0) interval.end = std::to_string(random() % 3000);
    TextRows part;
    for (const auto& row : rows) {
      if (interval.Contains(row.first)) part.push_back(row);
    }
    ASSERT_TRUE(RowsOf(in_place->get(), interval) == part);
    ASSERT_TRUE(RowsOf(external->get(), interval) == part);
  }
}

}  // namespace
}  // namespace rocksieve::join
