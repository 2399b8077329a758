// Which addresses are of this machine only, what lists of them are, and tokens.
#include "transport/address.h"

#include <fstream>

#include <gtest/gtest.h>

#include "transport/token.h"

namespace rocksieve::join {
namespace {

TEST(Address, KnowsWhatIsLocal) {
  for (const char* local : {"127.0.0.1:1", "127.8.9.1:1", "localhost:99", "[::1]:5", "unix:/tmp/a",
                            "dns:///localhost:7", "ipv4:127.0.0.1:7", "ipv6:[::1]:7"}) {
    EXPECT_TRUE(IsLocal(local)) << local;
  }
  for (const char* other : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.0.0.1.example.org:1",
                            "127.example.org:1", "localhost.example.org:1", "example.org:1", ":1",
                            "dns:///example.org:1", "127.0.0:1"}) {
    EXPECT_FALSE(IsLocal(other)) << other;
  }
}

TEST(Address, SplitsLists) {
  const auto two = SplitAddresses("a:1,dns:///b:2");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(*two, (std::vector<std::string>{"a:1", "dns:///b:2"}));
  for (const char* bad : {"", "a", "a:", "a:x", "a:1,", "a:1,,b:2", "a:1,a:1"}) {
    EXPECT_FALSE(SplitAddresses(bad).ok()) << bad;
  }
}

TEST(Token, OnlyWholeOnes) {
  const std::vector<std::string> tokens = {"0123456789abcdef", "fedcba9876543210"};
  for (const std::string& token : tokens) EXPECT_TRUE(IsToken(token, tokens));
  for (const char* bad : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeX",
                          "0123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(IsToken(bad, tokens)) << bad;
  }
}

TEST(Token, FilesAreChecked) {
  const std::string path = testing::TempDir() + "rocksieve-tokens";
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    return ReadTokens(path);
  };
  const auto good = read("# of the night job\n0123456789abcdef\r\n\nfedcba9876543210");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(*good, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
  EXPECT_FALSE(read("").ok());
  EXPECT_FALSE(read("short\n").ok());
  EXPECT_FALSE(read("with spaces in it, long\n").ok());
  EXPECT_FALSE(ReadTokens(path + ".missing").ok());
}

}  // namespace
}  // namespace rocksieve::join
