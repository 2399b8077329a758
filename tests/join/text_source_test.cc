// SPDX-License-Identifier: Apache-2.0
// Sorted text as a source.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/text/text_rows.h"

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

TextRows ReadText(const std::string& text) {
  const TextFile file(text);
  const auto source = SortedTextSource::Open(file.path());
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
  EXPECT_EQ(ReadText("\xff\n"), (TextRows{{"\xff", ""}}));
  const std::string huge(5 << 20, 'h');
  EXPECT_TRUE(ReadText("a\nh\t" + huge + "\nz\n") == (TextRows{{"a", ""}, {"h", huge}, {"z", ""}}));
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
  TextRows rows;
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
  std::set<std::string> keys;
  for (const auto& row : rows) keys.insert(row.first);
  EXPECT_EQ((*source)->EstimateKeys(), keys.size());
  for (int i = 0; i < 200; i++) {
    KeyInterval interval{i == 0 ? "" : std::to_string(random() % 3000), std::nullopt};
    if (i % 3 != 0) interval.end = std::to_string(random() % 3000);
    TextRows part;
    for (const auto& row : rows) {
      if (interval.Contains(row.first)) part.push_back(row);
    }
    ASSERT_TRUE(RowsOf(source->get(), interval) == part);
  }
}

}  // namespace
}  // namespace rocksieve::join
