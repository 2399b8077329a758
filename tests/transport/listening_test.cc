// Servers that cannot listen where they are told to.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/join/rows/memory_source.h"
#include "lib/transport/server.h"

namespace rocksieve::join {
namespace {

using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<JoinServer>> Start(const std::string& address) {
  ServerOptions options;
  options.address = address;
  options.security.insecure = true;
  return JoinServer::Start(
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
