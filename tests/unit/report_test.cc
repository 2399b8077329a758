// SPDX-License-Identifier: Apache-2.0
// Parts of the page of `report`: text of others, trees of any size, documents of joins that anybody
// may have written.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/report/html.h"

namespace rocksieve::tools {
namespace {

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) count++;
  return count;
}

TEST(Html, EscapesText) {
  EXPECT_EQ(Html("a<b>&\"c\"").markup(), "a&lt;b&gt;&amp;&quot;c&quot;");
  const Html element = Element("p", {{"title", "\"><script>"}}, "</p><script>");
  EXPECT_EQ(element.markup(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;/p&gt;&lt;script&gt;</p>\n");
  EXPECT_EQ((Html("<") + Element("b", "&")).markup(), "&lt;<b>&amp;</b>");  // no new line
}

TEST(Shown, IsUtf8WithoutControls) {
  EXPECT_EQ(Shown("K\xC3\xB6ln \xE2\x82\xAC \xF0\x9F\x98\x80\t\n"),
            "K\xC3\xB6ln \xE2\x82\xAC \xF0\x9F\x98\x80\t\n");
  const std::string replacement = "\xEF\xBF\xBD";
  for (const char* wrong :
       {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x01", "\x7F", "\xC2\x85",
        "\xE2\x80\xAE", "\xE2\x81\xA6", "\xEF\xBB\xBF", "\xEF\xBF\xBE"}) {
    const std::string shown = Shown("a" + std::string(wrong) + "b");
    EXPECT_EQ(shown.substr(0, 4), "a" + replacement);
    EXPECT_EQ(shown.back(), 'b');
  }
  EXPECT_EQ(Shown(std::string("a\0b", 3)), "a" + replacement + "b");
  EXPECT_EQ(Shown("12345", 3), "123..");
  EXPECT_EQ(Shown("\xC3\xB6\xC3\xB6", 3), "\xC3\xB6..");  // no half of a letter
}

TEST(HtmlTable, HasHeadsAndRows) {
  const std::string table =
      HtmlTable("cap<tion", {{"a", "head", "of a", Column::Kind::kText}, {"b", "b", ""}},
                {{{"a", "x<"}, {"b", 1.5}}, {{"a", "y"}, {"class", "strong"}}})
          .markup();
  EXPECT_NE(table.find("<caption>cap&lt;tion</caption>"), std::string::npos) << table;
  EXPECT_NE(table.find("<th scope=\"row\" class=\"text\">x&lt;</th>"), std::string::npos) << table;
  EXPECT_NE(table.find("<td>1.50</td>"), std::string::npos) << table;
  EXPECT_NE(table.find("<td>-</td>"), std::string::npos) << table;
  EXPECT_NE(table.find("<tr class=\"strong\">"), std::string::npos) << table;
}

PictureFile File(int level, uint64_t number, const std::string& filter) {
  return {std::to_string(number) + ".sst", level, 1000, 50000,
          filter == "none" ? 0u : 1250u,   filter};
}

TEST(TreePicture, HasACellForEachFile) {
  std::vector<PictureFile> files;
  for (uint64_t i = 0; i < 3; i++) files.push_back(File(0, i, "a filter"));
  for (uint64_t i = 3; i < 40; i++) files.push_back(File(6, i, i % 2 == 0 ? "another" : "none"));
  files.push_back({"41.sst", 6, 0, 7, 0, "none", true});
  const std::string picture = TreePicture("t", files, {{"a filter", "c2"}}).markup();
  EXPECT_EQ(CountOf("<g>", picture), files.size());
  EXPECT_EQ(CountOf("class=\"c2\"", picture), 3u + 1);  // and in the legend
  EXPECT_EQ(CountOf("\"cell bare\"", picture), 19u + 1);
  EXPECT_EQ(CountOf("\"cell bad\"", picture), 1u + 1);
  EXPECT_NE(picture.find("0.sst: 1,000 keys, 50 kB, a filter, 10.00 bits per key"),
            std::string::npos);
  EXPECT_NE(picture.find("41.sst: 0 keys, 7 B, cannot be read"), std::string::npos);
  // Of 15 bits at most, ten are two thirds of 44.
  EXPECT_NE(picture.find("height=\"29.3\""), std::string::npos) << picture.substr(0, 2000);
  // 38 files with 1.85 MB; 3 with 150 kB are 1.09 decades less.
  EXPECT_NE(picture.find("style=\"width:100%\""), std::string::npos);
  EXPECT_NE(picture.find("style=\"width:83.6%\""), std::string::npos) << picture.substr(0, 600);
}

TEST(TreePicture, IsBounded) {
  std::vector<PictureFile> files;
  uint64_t keys = 0;
  for (int level = 0; level < 7; level++) {
    for (uint64_t i = 0; i < 100000 / 7; i++) {
      files.push_back(File(level, keys, i % 1000 == 0 ? "none" : "a filter"));
      keys++;
    }
  }
  const std::string picture = TreePicture("t", files, {}).markup();
  EXPECT_LT(picture.size(), 7u * 2 * 40000);
  EXPECT_LE(CountOf("<g>", picture), 7 * 2 * kMostCells);  // cells of two kinds
  EXPECT_GE(CountOf("<g>", picture), 7 * kMostCells / 2);
  EXPECT_NE(picture.find("several neighbours"), std::string::npos);
  EXPECT_NE(picture.find("files, 1.sst to "), std::string::npos);
}

TEST(TreePicture, OfNothingIsNoError) {
  EXPECT_EQ(CountOf("<g>", TreePicture("t", {}, {}).markup()), 0u);
  EXPECT_EQ(TreePicture("t", {{"1.sst", 0, 0, 0, 0, "none"}}, {}).markup().find("nan"),
            std::string::npos);
}

constexpr char kPlan[] =
    R"({"remotes": [{"address": "a<b:1", "local_keys": 5, "remote_keys": 6, "range_local_keys": 5,
        "range_remote_keys": 6, "range_common_keys": 2, "range_is_equal": false,
        "first_move": "sketch", "keys_are_as_cheap": true, "strategies": [
        {"name": "sketch", "bytes": 120, "bits_per_local_key": 1.5},
        {"name": "<script>", "bytes": 900, "bits_per_local_key": 9}]}]})";

std::string Refusal(const std::string& text) {
  JoinFile file;
  std::string error;
  EXPECT_FALSE(ParseJoinFile(text, &file, &error)) << text;
  EXPECT_NE(error.find("rocksieve join"), std::string::npos) << error;
  return error;
}

TEST(JoinFile, OfAPlan) {
  JoinFile file;
  std::string error;
  ASSERT_TRUE(ParseJoinFile(kPlan, &file, &error)) << error;
  EXPECT_TRUE(file.is_plan);
  const std::string section = JoinSection(1, file).markup();
  EXPECT_EQ(section.find("<script>"), std::string::npos);
  EXPECT_NE(section.find("a&lt;b:1"), std::string::npos);
  EXPECT_NE(section.find("begins with: sketch"), std::string::npos);
}

TEST(JoinFile, SaysWhatIsWrong) {
  EXPECT_NE(Refusal("").find("no JSON"), std::string::npos);
  EXPECT_NE(Refusal("{\"remotes\": [").find("no JSON"), std::string::npos);
  EXPECT_NE(Refusal("{\"remotes\": [\"\xFF\"]}").find("no JSON"), std::string::npos);
  EXPECT_NE(Refusal("[1, 2]").find("no \"remotes\""), std::string::npos);
  EXPECT_NE(Refusal("3").find("no \"remotes\""), std::string::npos);
  EXPECT_NE(Refusal("{\"remotes\": 3}").find("/remotes is not an array"), std::string::npos);
  EXPECT_NE(Refusal("{\"remotes\": [{}]}").find("/remotes/0/address is missing"),
            std::string::npos);
  EXPECT_NE(Refusal(std::string(1000, '[')).find("no JSON"), std::string::npos);
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_NE(Refusal("{\"remotes\": " + deep + "}").find("too deeply"), std::string::npos);
  EXPECT_NE(Refusal("{\"operation\": \"count\", \"rows\": 0, \"seconds\": 1, \"remotes\": [{}]}")
                .find("/remotes/0/address"),
            std::string::npos);
}

TEST(Style, FetchesNothing) {
  const std::string style = kStyle;
  for (const char* word : {"url(", "@import", "http", "</"}) {
    EXPECT_EQ(style.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(CountOf("{", style), CountOf("}", style));
}

}  // namespace
}  // namespace rocksieve::tools
