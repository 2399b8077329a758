// Which addresses are of this machine only, what lists of them are, and tokens.
#include <sys/stat.h>

#include "lib/transport/address.h"

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/transport/token.h"

namespace rocksieve::join {
namespace {

TEST(Address, KnowsWhatIsLocal) {
  for (const char* local : {"127.0.0.1:1", "127.8.9.1:1", "localhost:99", "[::1]:5", "unix:/tmp/a",
                            "dns:///localhost:7", "ipv4:127.0.0.1:7", "ipv6:[::1]:7"}) {
    EXPECT_TRUE(IsLocal(local)) << local;
  }
  for (const char* other :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.0.0.1.example.org:1", "127.example.org:1",
        "localhost.example.org:1", "example.org:1", ":1", "dns:///example.org:1", "127.0.0:1"}) {
    EXPECT_FALSE(IsLocal(other)) << other;
  }
}

TEST(Address, SplitsLists) {
  const auto two = SplitAddresses("a:1,dns:///b:2");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(*two, (std::vector<std::string>{"a:1", "dns:///b:2"}));
  for (const char* bad : {"", "a", "a:", "a:x", "a:1,", "a:1,,b:2", "a:1,a:1", "a:0", "a:65536"}) {
    EXPECT_FALSE(SplitAddresses(bad).ok()) << bad;
  }
}

TEST(Address, SaysWhatIsWrong) {
  const auto fault = [](const char* address, AddressUse use) {
    return std::string(CheckAddress(address, use).message());
  };
  for (const AddressUse use : {AddressUse::kConnect, AddressUse::kListen}) {
    for (const char* good : {"a:1", "[::1]:65535", "unix:a", "unix:///run/a", "dns://1.1.1.1/a:7",
                             "ipv6:[::1]:7", "127.0.0.1:7420"}) {
      EXPECT_EQ(fault(good, use), "");
    }
    const std::map<const char*, const char*> faults = {{"foo", "must look like host:port"},
                                                       {"", "must look like host:port"},
                                                       {":7", "host is missing"},
                                                       {"a:", "port is missing"},
                                                       {"a:65536", "65536, is not one"},
                                                       {"a:99999999999", "is not one of"},
                                                       {"a:-1", "\"-1\", is no number"},
                                                       {"a:x", "\"x\", is no number"},
                                                       {"::1:7", "into brackets"},
                                                       {"unix:", "must have a path"},
                                                       {"dns:///a", "must look like host:port"}};
    for (const auto& [address, text] : faults) {
      EXPECT_THAT(fault(address, use), testing::HasSubstr(text)) << address;
      EXPECT_THAT(fault(address, use), testing::HasSubstr(address));
    }
    EXPECT_THAT(fault(("unix:/" + std::string(200, 'x')).c_str(), use),
                testing::HasSubstr("has 201 bytes"));
  }
  EXPECT_EQ(fault("a:0", AddressUse::kListen), "");
  EXPECT_THAT(fault("a:0", AddressUse::kConnect), testing::HasSubstr("only for listening"));
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
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return ReadTokens(path);
  };
  const auto good = read("# of the night job\n0123456789abcdef\r\n\nfedcba9876543210");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(*good, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
  EXPECT_FALSE(read("").ok());
  EXPECT_FALSE(read("short\n").ok());
  EXPECT_FALSE(read("with spaces in it, long\n").ok());
  EXPECT_FALSE(ReadTokens(path + ".missing").ok());
  std::ofstream(path) << "0123456789abcdef\n";
  for (const mode_t mode : {0640, 0604, 0620}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status refused = ReadTokens(path).status();
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("chmod 600 " + path));
  }
}

}  // namespace
}  // namespace rocksieve::join
