// SPDX-License-Identifier: Apache-2.0
// Charts, and lines of a file.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/chart.h"
#include "support/files.h"
#include "support/progress.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

// The pictures of whatif: scales, curves that leave the picture, names that XML must not see.

// y = 10^-x from 0 to 10, in steps of 2.
ChartSeries Falling(const std::string& name) {
  ChartSeries series;
  series.name = name;
  for (int x = 0; x <= 10; x += 2) {
    series.points.push_back({static_cast<double>(x), std::pow(10, -x)});
  }
  return series;
}

Chart Example() {
  Chart chart;
  chart.title = "title";
  chart.x_label = "x";
  chart.y_label = "y";
  chart.x_min = 1;
  chart.x_max = 7;
  chart.ticks = {{1, "one", ""}, {7, "seven", ""}};
  chart.series = {Falling("falling")};
  return chart;
}

TEST(Text, HasNoControlsForTerminals) {
  EXPECT_EQ(WithoutControls("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(WithoutControls("\x1b[31mred\x7f\r\b"), " [31mred   ");
  EXPECT_EQ(WithoutControls(std::string("a\0b", 3)), "a b");
  // U+009B; U+00E9 and U+00A0, which begin alike, and what is cut off.
  EXPECT_EQ(WithoutControls("\xc2\x9b"
                            "1m \xc3\xa9\xc2\xa0\xc2"),
            " 1m \xc3\xa9\xc2\xa0\xc2");
}

TEST(Chart, DecadesEncloseWhatIsSeen) {
  Chart chart = Example();
  EXPECT_EQ(DecadesOf(chart).highest, -2);  // the first point inside
  EXPECT_EQ(DecadesOf(chart).lowest, -6);
  chart.marks = {{"inside", {3, 0.5}}, {"outside", {8, 1e-20}}, {"zero", {3, 0}}};
  EXPECT_EQ(DecadesOf(chart).highest, 0);
  EXPECT_EQ(DecadesOf(chart).lowest, -6);
  chart.series.clear();
  chart.marks = {{"alone", {3, 0.1}}};
  EXPECT_LT(DecadesOf(chart).lowest, DecadesOf(chart).highest);
  chart.marks.clear();
  EXPECT_LT(DecadesOf(chart).lowest, DecadesOf(chart).highest);
}

TEST(Chart, StepsReachFromZeroToAllThatIsSeen) {
  for (const double highest : {0.003, 0.9, 1.0, 9.99, 10.0, 12.3, 20.0, 49.0, 50.0, 71.0, 1e6}) {
    Chart chart = Example();
    chart.series = {{"series", {{0, 1e9}, {2, highest / 2}, {3, highest * 0.9, highest * 0.1}}}};
    const Steps steps = StepsOf(chart);
    EXPECT_GE(steps.step * steps.count, highest * (1 - 1e-9)) << highest;
    EXPECT_LT(steps.step * (steps.count - 1), highest) << highest;
    EXPECT_GE(steps.count, 5) << highest;
    EXPECT_LE(steps.count, 13) << highest;
    const double power = std::pow(10, std::floor(std::log10(steps.step) + 1e-9));
    const double digit = std::round(steps.step / power);
    EXPECT_NEAR(digit * power, steps.step, 1e-9 * steps.step);
    EXPECT_TRUE(digit == 1 || digit == 2 || digit == 5) << digit;
  }
}

TEST(SvgDrawing, HasLinearAxesAndErrorBars) {
  Chart chart = Example();
  chart.linear_y = true;
  chart.series = {{"series", {{2, 10}, {4, 20, 5}}}};
  const std::string svg = SvgDrawing(chart);
  // From 0 to 25 in steps of 5, between y = 470 and y = 74: 10 is at 311.6.
  EXPECT_NE(svg.find("185.0,311.6 "), std::string::npos) << svg;
  EXPECT_NE(svg.find("y1=\"74.0\" x2=\"387.0\" y2=\"232.4\""), std::string::npos) << svg;
}

TEST(TerminalDrawing, IsAFallingLineWithinItsWidth) {
  for (const size_t width : {40, 80, 120}) {
    std::istringstream lines(TerminalDrawing(Example(), width));
    std::string line;
    size_t last_column = 0, rows_with_curve = 0;
    while (std::getline(lines, line)) {
      EXPECT_LE(line.size(), width);
      const size_t bar = line.find('|');
      if (bar == std::string::npos) continue;
      const size_t first = line.find('a', bar);
      if (first == std::string::npos) continue;
      EXPECT_GE(first, last_column) << line;
      last_column = line.rfind('a');
      rows_with_curve++;
    }
    EXPECT_GE(rows_with_curve, 5u);
    EXPECT_GT(last_column, width - 5);
  }
}

TEST(SvgDrawing, CutsCurvesAtItsEdges) {
  const std::string svg = SvgDrawing(Example());
  const std::string key = "points=\"";
  std::istringstream points(svg.substr(svg.find(key) + key.size()));
  // Powers of ten are a straight line here, from edge to edge.
  std::vector<double> xs, ys;
  double x, y;
  char comma;
  while (points >> x >> comma >> y) {
    xs.push_back(x);
    ys.push_back(y);
  }
  ASSERT_GE(xs.size(), 3u);
  EXPECT_GT(xs.back() - xs.front(), 100);
  const double slope = (ys.back() - ys.front()) / (xs.back() - xs.front());
  EXPECT_GT(slope, 0);  // downwards
  for (size_t i = 1; i < xs.size(); i++) {
    EXPECT_GT(xs[i], xs[i - 1]);
    EXPECT_NEAR(ys[i], ys[0] + slope * (xs[i] - xs[0]), 0.2);
  }
}

TEST(SvgForPage, HasCurvesAndMarksInColoursOfThePage) {
  Chart chart = Example();
  chart.title = "a<b";
  chart.marks = {{"inside", {3, 0.001}}, {"outside", {8, 1}}};
  PageDrawing drawing;
  drawing.id = "one";
  drawing.description = "what \"it\" is";
  drawing.width = 340;
  drawing.height = 300;
  const std::string svg = SvgForPage(chart, drawing);
  EXPECT_EQ(svg.find("<svg viewBox=\"0 0 340.0 300.0\" role=\"img\" "
                     "aria-labelledby=\"one-title one-desc\""),
            0u)
      << svg;
  EXPECT_NE(svg.find("<title id=\"one-title\">a&lt;b</title>"), std::string::npos);
  EXPECT_NE(svg.find("what &quot;it&quot; is</desc>"), std::string::npos);
  EXPECT_NE(svg.find("class=\"" + ClassOfSeries(0) + "\" points="), std::string::npos) << svg;
  EXPECT_NE(svg.find("class=\"mark\""), std::string::npos);
  // Names and colours are the page's.
  for (const char* word : {"falling", "inside", "not in the picture", "#", "fill=\"w", "http"}) {
    EXPECT_EQ(svg.find(word), std::string::npos) << word;
  }
  EXPECT_NE(ClassOfSeries(0), ClassOfSeries(6));
  EXPECT_EQ(ClassOfSeries(0), ClassOfSeries(7));
}

}  // namespace
}  // namespace rocksieve::tools

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

TEST_F(LineReaderTest, SaysWhyAFileCannotBeRead) {
  LineReader nothing("/nowhere/at/all");
  EXPECT_EQ(nothing.error(), "cannot read /nowhere/at/all: No such file or directory");
  EXPECT_EQ(All(&nothing), Lines{});
  EXPECT_EQ(LineReader("/").error(), "cannot read /: Is a directory");
}

// As terminals are wide: what matters least goes first.
TEST(ProgressLines, FitTheTerminal) {
  const ProgressState loading = {"loading", 2'700'000, 4'300'000, /*units_are_bytes=*/true, 0, 2.5};
  const std::map<size_t, std::string> lines = {
      {200, "rocksieve load: loading  62 %  2.7 MB  1.1 MB/s  2 s left"},
      {57, "rocksieve load: loading  62 %  2.7 MB  1.1 MB/s  2 s left"},
      {56, "rocksieve load: loading  62 %  2.7 MB  2 s left"},
      {46, "rocksieve load: loading  62 %  2 s left"},
      {38, "rocksieve load: loading  62 %"},
      {28, "rocksieve load: loadin  62 %"},
      {8, "ro  62 %"},
      {5, "  62 %"},
  };
  for (const auto& [columns, line] : lines) {
    EXPECT_EQ(ProgressLine("rocksieve load", loading, columns), line) << columns;
  }
  for (size_t columns = 6; columns < 100; columns++) {
    EXPECT_LE(ProgressLine("rocksieve load", loading, columns).size(), columns);
  }
}

TEST(ProgressLines, SayWhatIsKnown) {
  const auto line = [](const ProgressState& state) { return ProgressLine("join", state, 80); };
  EXPECT_EQ(line({"compacting"}), "join: compacting");
  EXPECT_EQ(line({"family a\x1b]0;b\nc"}), "join: family a ]0;b c");
  EXPECT_EQ(line({"reading", 1234567}), "join: reading  1,234,567");
  EXPECT_EQ(line({"reading", 5'000'000, 0, true, 0, 2}), "join: reading  5.0 MB  2.5 MB/s");
  EXPECT_EQ(line({"reading", 50, 100, true, 0, 0.5}), "join: reading  50 %  50 B");
  EXPECT_EQ(line({"joining", 10, 1000, false, 2000, 10}),
            "join: joining  1 %  2.0 kB  200 B/s  16 min left");
  EXPECT_EQ(line({"joining", 1, 1000, false, 0, 36}), "join: joining  0 %  10 h left");
  EXPECT_EQ(line({"joining", 1000, 1000, false, 0, 36}), "join: joining  100 %");
}

TEST(ShortBytes, HaveTwoOrThreeDigits) {
  for (const auto& [bytes, text] : std::map<double, std::string>{{0, "0 B"},
                                                                 {999, "999 B"},
                                                                 {1000, "1.0 kB"},
                                                                 {9949, "9.9 kB"},
                                                                 {9950, "10 kB"},
                                                                 {999'499, "999 kB"},
                                                                 {999'500, "1.0 MB"},
                                                                 {1e13, "10 TB"},
                                                                 {1e17, "100,000 TB"}}) {
    EXPECT_EQ(ShortBytes(bytes), text);
  }
}

}  // namespace
}  // namespace rocksieve

namespace rocksieve {

// Files that appear when they are complete, and links that somebody planted.

namespace {

namespace fs = std::filesystem;

class PendingFileTest : public testing::Test {
 protected:
  PendingFileTest() {
    std::string pattern = testing::TempDir() + "pending_file_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~PendingFileTest() override { fs::remove_all(directory_); }

  std::string Path() const { return (directory_ / "result.tsv").string(); }
  std::string Contents() const {
    std::ostringstream text;
    text << std::ifstream(Path()).rdbuf();
    return text.str();
  }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  std::unique_ptr<PendingFile> Created() const {
    std::string error;
    return PendingFile::Create(Path(), &error);
  }
  static void Write(PendingFile* file, const std::string& text) {
    std::string error;
    EXPECT_TRUE(file->Append(text, &error)) << error;
  }
  static void Publish(PendingFile* file) {
    std::string error;
    EXPECT_EQ(file->Publish(&error), 0) << error;
  }

  fs::path directory_;
};

TEST_F(PendingFileTest, AppearsWhenItIsPublished) {
  const auto file = Created();
  ASSERT_NE(file, nullptr);
  Write(file.get(), "rows");
  EXPECT_FALSE(fs::exists(Path()));
  Publish(file.get());
  EXPECT_EQ(Contents(), "rows");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(PendingFileTest, CanBeOpenedByOthersWhileItHasNoName) {
  const auto file = Created();
  std::ofstream(file->open_path()) << "by another writer";
  Publish(file.get());
  EXPECT_EQ(Contents(), "by another writer");
}

TEST_F(PendingFileTest, FollowsNoLinkThatSomebodyPlanted) {
  const fs::path target = directory_ / "precious";
  std::ofstream(target) << "precious";
  fs::create_symlink(target, Path() + "." + std::to_string(getpid()) + ".tmp");
  const auto file = Created();
  Write(file.get(), "rows");
  Publish(file.get());
  EXPECT_EQ(Contents(), "rows");
  EXPECT_EQ(fs::file_size(target), 8u);
  EXPECT_EQ(Files(), 3u);
}

TEST_F(PendingFileTest, GetsNoNameThatADirectoryHas) {
  ASSERT_TRUE(fs::create_directory(Path()));
  {
    const auto file = Created();
    Write(file.get(), "rows");
    std::string error;
    EXPECT_NE(file->Publish(&error), 0);
    EXPECT_NE(error.find(Path()), std::string::npos) << error;
  }
  EXPECT_EQ(Files(), 1u);
}

TEST_F(PendingFileTest, ReplacesNoneIfItShallNot) {
  const auto first = Created(), second = Created();
  Write(first.get(), "first");
  Write(second.get(), "second");
  std::string error;
  EXPECT_EQ(first->Publish(&error, /*replaces=*/false), 0) << error;
  EXPECT_EQ(second->Publish(&error, /*replaces=*/false), EEXIST);
  EXPECT_EQ(Contents(), "first");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(PendingFileTest, WhatAPathNames) {
  OutputPlace place;
  std::string error;
  EXPECT_TRUE(FindOutputPlace("-", &place, &error) && place.is_stream);
  EXPECT_TRUE(FindOutputPlace("/dev/null", &place, &error) && place.is_stream);
  EXPECT_TRUE(FindOutputPlace(Path(), &place, &error) && !place.is_stream);
  EXPECT_EQ(place.path, Path());
  std::ofstream(Path()) << "there";
  const std::string link = (directory_ / "link").string();
  fs::create_symlink(Path(), link);
  EXPECT_TRUE(FindOutputPlace(link, &place, &error) && !place.is_stream);
  EXPECT_EQ(place.path, fs::canonical(Path()).string());
  EXPECT_FALSE(FindOutputPlace(directory_.string(), &place, &error));
  EXPECT_NE(error.find("is a directory"), std::string::npos);
}

}  // namespace
}  // namespace rocksieve
