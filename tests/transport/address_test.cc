// SPDX-License-Identifier: Apache-2.0
// Which addresses are of this machine only, what lists of them are, and servers that cannot listen
// where they are told to.
#include "lib/transport/credentials.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/transport/server.h"
#include "tests/join/memory_source.h"

namespace rocksieve::join {
namespace {

using testing::HasSubstr;

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
      EXPECT_THAT(fault(address, use), HasSubstr(text)) << address;
      EXPECT_THAT(fault(address, use), HasSubstr(address));
    }
    EXPECT_THAT(fault(("unix:/" + std::string(200, 'x')).c_str(), use), HasSubstr("has 201 bytes"));
  }
  EXPECT_EQ(fault("a:0", AddressUse::kListen), "");
  EXPECT_THAT(fault("a:0", AddressUse::kConnect), HasSubstr("only for listening"));
}

absl::StatusOr<std::unique_ptr<GrpcJoinServer>> Start(const std::string& address) {
  ServerOptions options;
  options.address = address;
  options.security.insecure = true;
  return GrpcJoinServer::Start(
      [](const ViewRequest&, const ViewTerms&) -> absl::StatusOr<View> {
        return View{std::make_unique<MemorySource>(MemorySource::Rows()), "test"};
      },
      options);
}

class Listening : public testing::Test {
 protected:
  void TearDown() override { unlink(path_.c_str()); }

  const std::string path_ = testing::TempDir() + "rocksieve-listening-" + std::to_string(getpid());
  const std::string address_ = "unix:" + path_;
};

TEST_F(Listening, ALivingServerKeepsItsSocket) {
  const auto first = Start(address_);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start(address_);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_THAT(second.status().message(), HasSubstr("another server does already"));
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(Listening, WhatADeadServerLeftIsReplaced) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(descriptor, 1), 0);
  EXPECT_FALSE(Start(address_).ok());  // it lives still
  close(descriptor);
  EXPECT_TRUE(Start(address_).ok());
}

TEST_F(Listening, AFileIsKept) {
  std::ofstream(path_) << "precious";
  const auto server = Start(address_);
  EXPECT_TRUE(absl::IsFailedPrecondition(server.status()));
  EXPECT_THAT(server.status().message(), HasSubstr("no socket; it was kept"));
  std::stringstream text;
  text << std::ifstream(path_).rdbuf();
  EXPECT_EQ(text.str(), "precious");
}

TEST_F(Listening, ATakenPortAndAForeignAddress) {
  const auto first = Start("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start("127.0.0.1:" + std::to_string((*first)->port()));
  EXPECT_THAT(second.status().message(), HasSubstr("Address already in use"));
  EXPECT_THAT(Start("foo").status().message(), HasSubstr("must look like host:port"));
  EXPECT_THAT(Start("127.0.0.1:65536").status().message(), HasSubstr("65536"));
  EXPECT_THAT(Start("unix:/no/such/directory/a").status().message(), HasSubstr("its directory"));
}

}  // namespace
}  // namespace rocksieve::join
