// SPDX-License-Identifier: Apache-2.0
// Joins by the public API that end early, and what they say.
#include <string>

#include "integration/join_api.h"

namespace rocksieve::join {
namespace {

TEST_F(JoinApi, ACallbackEndsTheJoinWithItsStatus) {
  int calls = 0;
  const rocksdb::Status status = Join(
      Operation::kIntersection, Here(), Serve(), JoinOptions(),
      [&calls](const ResultRow&) {
        calls++;
        return rocksdb::Status::NoSpace("of mine");
      },
      nullptr);
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_EQ(calls, 1);
}

TEST_F(JoinApi, Cancelled) {
  JoinOptions options;
  options.canceller = Canceller();
  options.canceller->Cancel();
  const rocksdb::Status status =
      Join(Operation::kCount, Here(), Serve(), options, nullptr, nullptr);
  EXPECT_TRUE(status.IsAborted()) << status.ToString();
}

TEST_F(JoinApi, ForEverIsNotAtOnce) {
  constexpr auto kForEver = std::chrono::milliseconds::max();
  ServeOptions serve;
  serve.session_time = serve.silence = serve.keep = kForEver;
  JoinOptions options;
  options.timeout = options.silence = kForEver;
  options.most_row_bytes = UINT64_MAX;
  options.attempts = 1;
  EXPECT_EQ(Joined(Operation::kDifference, Here(), Serve(serve), options),
            RowsOf(there_, here_, false));
  server_->Shutdown(kForEver);  // nothing is under way
}

TEST_F(JoinApi, ErrorsSayWhatIsWrong) {
  const Peer peer = Serve();
  const auto join = [&](Peer with, JoinOptions options = {}) {
    options.attempts = 1;
    return Join(Operation::kCount, Here(), with, options, nullptr, nullptr);
  };
  Peer other = peer;
  other.column_family = "orders";
  rocksdb::Status status = join(other);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_NE(status.ToString().find("\"orders\" is not served"), std::string::npos);

  other = peer;
  other.on = "@nothing";
  EXPECT_TRUE(join(other).IsInvalidArgument());

  JoinOptions options;
  options.strategy = "guess";
  status = join(peer, options);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  options = JoinOptions();
  options.most_round_trips = 0;
  status = join(peer, options);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  options = JoinOptions();
  options.most_bytes = 1;
  status = join(peer, options);
  EXPECT_TRUE(status.IsBusy()) << status.ToString();
  EXPECT_NE(status.ToString().find("the limit is 1"), std::string::npos) << status.ToString();

  other = peer;
  other.credentials.insecure = false;
  EXPECT_FALSE(join(other).ok());
  other = peer;
  other.credentials.authority_file = "ca.crt";
  status = join(other);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  other = peer;
  other.addresses = {"127.0.0.1:65536"};
  status = join(other);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_NE(status.ToString().find("65536, is not one of 1 to 65535"), std::string::npos);
  other.addresses.clear();
  EXPECT_TRUE(join(other).IsInvalidArgument());

  server_.reset();
  status = join(peer);
  EXPECT_TRUE(status.IsTryAgain()) << status.ToString();
  EXPECT_NE(status.ToString().find(peer.addresses.front()), std::string::npos);

  EXPECT_TRUE(Join(Operation::kCount, Input(), peer, {}, nullptr, nullptr).IsInvalidArgument());
  Input input;
  InputOptions misspelt;
  misspelt.on = "valu";
  EXPECT_TRUE(Input::OfDatabase(here_db_.get(), nullptr, {}, misspelt, &input).IsInvalidArgument());
  uint64_t rows = 0;
  EXPECT_TRUE(JoinToSst(Operation::kLocalOnly, Here(), peer, {}, rocksdb::Options(),
                        directory_ + "/no.sst", &rows, nullptr)
                  .IsInvalidArgument());
}

}  // namespace
}  // namespace rocksieve::join
