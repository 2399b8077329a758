// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/status.h"

#include <random>

#include <gtest/gtest.h>

namespace rocksieve::join {
namespace {

TEST(Printable, LeavesTextAlone) {
  for (const std::string text : {"", "a \"quoted\" word, 50 %", "Grüße, 鍵 🔑", "C:\\x41"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(Printable, ShowsWhatWouldForgeALineOrDriveATerminal) {
  EXPECT_EQ(Printable("done\nrocksieve serve: all is well\r\t"),
            "done\\x0arocksieve serve: all is well\\x0d\\x09");
  EXPECT_EQ(Printable("\x1b]0;title\x07\x1b[2J"), "\\x1b]0;title\\x07\\x1b[2J");
  EXPECT_EQ(Printable(std::string("\0\x7f", 2)), "\\x00\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");                                // C1
  EXPECT_EQ(Printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");  // a line separator
  EXPECT_EQ(Printable("\xe2\x80\xae"
                      "a"),
            "\\xe2\\x80\\xae"
            "a");  // right to left from here on
}

TEST(Printable, ShowsWhatIsNotUtf8) {
  EXPECT_EQ(Printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(Printable("ab\xe2\x82"), "ab\\xe2\\x82");                // cut off
}

TEST(Printable, IsBoundedAndNeverHasAControlCharacter) {
  EXPECT_EQ(Printable(std::string(5000, 'x')).size(), kMostPrintableBytes + 3);
  EXPECT_EQ(Printable("abc\n", 5), "abc...");
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; i++) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string printable = Printable(text);
    for (const char c : printable) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    ASSERT_EQ(Printable(printable), printable);
  }
}

TEST(WithoutDirectories, LeavesNamesOfFiles) {
  const auto clean = [](const std::string& text) { return WithoutDirectories(text); };
  EXPECT_EQ(clean("IO error: No such file or directory: While open a file for random read: "
                  "/var/lib/our db/000012.sst: No such file or directory"),
            "IO error: No such file or directory: While open a file for random read: "
            "our db/000012.sst: No such file or directory");
  EXPECT_EQ(clean("Corruption: bad block in ../../data/db/000012.sst offset 3"),
            "Corruption: bad block in 000012.sst offset 3");
  EXPECT_EQ(clean("cannot make a temporary file in /srv/tmp: Permission denied"),
            "cannot make a temporary file in tmp: Permission denied");
  EXPECT_EQ(clean("(/var/db/CURRENT)"), "(CURRENT)");
  EXPECT_EQ(clean("/"), "a directory");
}

TEST(WithoutDirectories, KnowsThoseThatItIsTold) {
  const std::vector<std::string> known = {"/srv/our db", "some/where"};
  EXPECT_EQ(WithoutDirectories("IO error: /srv/our db/000012.sst: gone", known),
            "IO error: 000012.sst: gone");
  EXPECT_EQ(WithoutDirectories("cannot open some/where/CURRENT in /srv/our db", known),
            "cannot open CURRENT in a directory");
}

TEST(WithoutDirectories, KnowsExpressionsAndFractions) {
  for (const std::string text : {"no join key expression value.json(/id/name)", "3/4 of the keys",
                                 "serve, and/or join", "bytes/s"}) {
    EXPECT_EQ(WithoutDirectories(text), text);
  }
}

}  // namespace
}  // namespace rocksieve::join
