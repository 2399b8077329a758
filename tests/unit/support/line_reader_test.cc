#include "support/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve {
namespace {

class LineReaderTest : public testing::Test {
 protected:
  LineReaderTest()
      : path_(std::filesystem::temp_directory_path() /
              ("line_reader_test_" + std::to_string(getpid()))) {}
  ~LineReaderTest() override { std::filesystem::remove(path_); }

  const std::string& Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

  static std::vector<std::string> All(LineReader* reader) {
    std::vector<std::string> lines;
    for (std::string_view line; reader->Next(&line);) lines.emplace_back(line);
    return lines;
  }

  const std::string path_;
};

using Lines = std::vector<std::string>;

TEST_F(LineReaderTest, GivesEveryByteBetweenNewlines) {
  const std::string nul("c\0d", 3);
  LineReader reader(Write("a\n\nb\r\n" + nul));
  EXPECT_EQ(All(&reader), (Lines{"a", "", "b\r", nul}));
  EXPECT_EQ(reader.error(), "");
  EXPECT_EQ(reader.line_number(), 4u);
  EXPECT_EQ(reader.offset(), 9u);
  EXPECT_EQ(reader.total_bytes(), 9u);
}

TEST_F(LineReaderTest, ReadsLinesThatAreLongerThanWhatItReadsAtATime) {
  const std::string text(3 << 20, 'x');
  LineReader reader(Write("a\n" + text + "\nb"));
  EXPECT_EQ(All(&reader), (Lines{"a", text, "b"}));
}

TEST_F(LineReaderTest, TwoReadersOfOneDescriptorAreIndependent) {
  const int descriptor = open(Write("a\nb\nc\n").c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  LineReader first(descriptor, "it"), second(descriptor, "it", /*offset=*/2);
  std::string_view line;
  EXPECT_TRUE(first.Next(&line));
  EXPECT_EQ(All(&second), (Lines{"b", "c"}));
  EXPECT_EQ(All(&first), (Lines{"b", "c"}));
  close(descriptor);
}

TEST_F(LineReaderTest, ReadsPipes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "a\nb", 3), 3);
  close(ends[1]);
  LineReader reader(ends[0], "it");
  EXPECT_EQ(All(&reader), (Lines{"a", "b"}));
  close(ends[0]);
}

TEST_F(LineReaderTest, NamesALineThatIsTooLong) {
  LineReader reader(Write("abc\nabcd\nabc\n"));
  reader.LimitLines(3);
  EXPECT_EQ(All(&reader), Lines{"abc"});
  EXPECT_EQ(reader.error(), path_ +
                                ", line 2: longer than 3 bytes. Are its lines separated by "
                                "newlines? Else take this one out.");
}

TEST_F(LineReaderTest, SaysWhyAFileCannotBeRead) {
  LineReader nothing("/nowhere/at/all");
  EXPECT_EQ(nothing.error(), "cannot read /nowhere/at/all: No such file or directory");
  EXPECT_EQ(All(&nothing), Lines{});
  EXPECT_EQ(LineReader("/").error(), "cannot read /: Is a directory");
}

}  // namespace
}  // namespace rocksieve
