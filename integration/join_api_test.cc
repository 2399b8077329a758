// Joins by the public API alone, between databases, files and servers in this process; results are
// compared with those of std::set_intersection and its like.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/server.h>

namespace rocksieve::join {
namespace {

using Rows = std::map<std::string, std::string>;
using ResultRows = std::vector<std::string>;  // "key=value", "local key=value", in their order

class JoinApi : public testing::Test {
 protected:
  JoinApi() {
    const std::string pattern = testing::TempDir() + "join_api.XXXXXX";
    std::string path = pattern;
    directory_ = mkdtemp(path.data());
    std::mt19937 random(SeedOfThisRun());
    for (int i = 0; i < 3000; i++) {
      const std::string key = "key" + std::to_string(random() % 100000);
      if (random() % 4 != 0) here_[key] = "here";
      if (random() % 4 != 0) there_[key] = "there " + std::to_string(i);
    }
    here_db_ = Make("here", here_);
    there_db_ = Make("there", there_);
  }
  ~JoinApi() override {
    server_.reset();
    here_db_.reset();
    there_db_.reset();
    std::filesystem::remove_all(directory_);
  }

  static uint32_t SeedOfThisRun() {
    static const uint32_t seed = [] {
      const char* given = std::getenv("ROCKSIEVE_SEED");
      const uint32_t chosen =
          given != nullptr ? static_cast<uint32_t>(std::atol(given)) : std::random_device()();
      std::printf("ROCKSIEVE_SEED=%u\n", chosen);
      return chosen;
    }();
    return seed;
  }

  std::unique_ptr<rocksdb::DB> Make(const std::string& name, const Rows& rows) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, directory_ + "/" + name, &db).ok());
    for (const auto& [key, value] : rows) {
      EXPECT_TRUE(db->Put(rocksdb::WriteOptions(), key, value).ok());
    }
    return std::unique_ptr<rocksdb::DB>(db);
  }

  // Serves the rows there.
  Peer Serve(const ServeOptions& options = {}, const Extractors& extractors = {}) {
    ServedDatabase served;
    served.db = there_db_.get();
    served.extractors = extractors;
    Credentials credentials;
    credentials.insecure = true;
    const rocksdb::Status status =
        AnsweringServer::Start(served, "127.0.0.1:0", credentials, options, &server_);
    EXPECT_TRUE(status.ok()) << status.ToString();
    Peer peer;
    peer.addresses = {"127.0.0.1:" + std::to_string(server_->port())};
    peer.credentials = credentials;
    return peer;
  }

  Input Here(const rocksdb::ReadOptions& read = {}, const InputOptions& options = {}) {
    Input input;
    const rocksdb::Status status =
        Input::OfDatabase(here_db_.get(), nullptr, read, options, &input);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return input;
  }

  static ResultRows Joined(Operation operation, const Input& input, const Peer& peer,
                           const JoinOptions& options = {}, JoinReport* report = nullptr) {
    ResultRows rows;
    const rocksdb::Status status = Join(
        operation, input, peer, options,
        [&rows](const ResultRow& row) {
          rows.push_back((row.is_local ? "local " : "") + std::string(row.key) + "=" +
                         std::string(row.value));
          return rocksdb::Status::OK();
        },
        report);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return rows;
  }

  // Rows of `of` whose keys are in `in`, or not.
  static ResultRows RowsOf(const Rows& of, const Rows& in, bool matched,
                           const std::string& prefix = "") {
    ResultRows rows;
    for (const auto& [key, value] : of) {
      if ((in.count(key) != 0) == matched) rows.push_back(prefix + key + "=" + value);
    }
    return rows;
  }

  std::string directory_;
  Rows here_, there_;
  std::unique_ptr<rocksdb::DB> here_db_, there_db_;
  std::unique_ptr<AnsweringServer> server_;
};

TEST_F(JoinApi, AllOperationsAreExact) {
  const Peer peer = Serve();
  EXPECT_EQ(Joined(Operation::kIntersection, Here(), peer), RowsOf(there_, here_, true));
  EXPECT_EQ(Joined(Operation::kDifference, Here(), peer), RowsOf(there_, here_, false));
  EXPECT_EQ(Joined(Operation::kLocalOnly, Here(), peer), RowsOf(here_, there_, false, "local "));

  ResultRows symmetric = Joined(Operation::kSymmetric, Here(), peer);
  ResultRows expected = RowsOf(there_, here_, false);
  const ResultRows local = RowsOf(here_, there_, false, "local ");
  expected.insert(expected.end(), local.begin(), local.end());
  std::sort(expected.begin(), expected.end());
  std::sort(symmetric.begin(), symmetric.end());
  EXPECT_EQ(symmetric, expected);

  JoinReport report;
  EXPECT_EQ(Joined(Operation::kCount, Here(), peer, {}, &report), ResultRows());
  EXPECT_EQ(report.matched_keys, RowsOf(there_, here_, true).size());
  EXPECT_EQ(report.local_only_keys, local.size());
  EXPECT_EQ(report.remote_only_keys, RowsOf(there_, here_, false).size());
  EXPECT_EQ(report.attempts, 1u);
  EXPECT_GE(report.wire_bytes_sent, report.sent.total());
  EXPECT_GE(report.wire_bytes_received, report.received.total());
}

TEST_F(JoinApi, FilesAreInputsToo) {
  const Peer peer = Serve();
  const std::string text = directory_ + "/here.txt", sst = directory_ + "/here.sst";
  rocksdb::SstFileWriter writer{rocksdb::EnvOptions(), rocksdb::Options()};
  ASSERT_TRUE(writer.Open(sst).ok());
  std::ofstream lines(text);
  for (const auto& [key, value] : here_) {
    lines << key << "\t" << value << "\n";
    ASSERT_TRUE(writer.Put(key, value).ok());
  }
  lines.close();
  ASSERT_TRUE(writer.Finish().ok());
  Input input;
  ASSERT_TRUE(Input::OfSortedText(text, {}, &input).ok());
  EXPECT_EQ(Joined(Operation::kIntersection, input, peer), RowsOf(there_, here_, true));
  ASSERT_TRUE(Input::OfSst(sst, rocksdb::Options(), {}, &input).ok());
  EXPECT_EQ(Joined(Operation::kDifference, input, peer), RowsOf(there_, here_, false));

  ASSERT_TRUE(Input::OfSortedText(directory_ + "/nothing.txt", {}, &input).ok());
  const rocksdb::Status status =
      Join(Operation::kCount, input, peer, JoinOptions(), nullptr, nullptr);
  EXPECT_NE(status.ToString().find("nothing.txt"), std::string::npos) << status.ToString();
}

TEST_F(JoinApi, ReadOptionsChooseRowsAndState) {
  const Peer peer = Serve();
  rocksdb::ReadOptions read;
  Rows some;
  {
    const rocksdb::Slice lower("key3"), upper("key6");  // need not outlive the call
    read.iterate_lower_bound = &lower;
    read.iterate_upper_bound = &upper;
    std::copy_if(here_.begin(), here_.end(), std::inserter(some, some.end()),
                 [](const auto& row) { return row.first >= "key3" && row.first < "key6"; });
    EXPECT_EQ(Joined(Operation::kIntersection, Here(read), peer), RowsOf(there_, some, true));
  }
  read = rocksdb::ReadOptions();
  read.snapshot = here_db_->GetSnapshot();
  const Input frozen = Here(read);
  ASSERT_FALSE(there_.empty());
  for (const auto& [key, value] : there_) {
    ASSERT_TRUE(here_db_->Put(rocksdb::WriteOptions(), key, value).ok());
  }
  EXPECT_EQ(Joined(Operation::kDifference, frozen, peer), RowsOf(there_, here_, false));
  EXPECT_EQ(Joined(Operation::kDifference, Here(), peer), ResultRows());
  here_db_->ReleaseSnapshot(read.snapshot);
}

TEST_F(JoinApi, APartOfTheKeySpace) {
  const Peer peer = Serve();
  JoinOptions options;
  options.begin = "key2";
  options.end = "key5";
  ResultRows expected;
  for (const std::string& row : RowsOf(there_, here_, false)) {
    if (row >= options.begin && row < *options.end) expected.push_back(row);
  }
  EXPECT_EQ(Joined(Operation::kDifference, Here(), peer, options), expected);
}

TEST_F(JoinApi, ExtractorsOfBothSides) {
  // On the last two digits here, and on the same there, under another name.
  const auto last_two = [](std::string_view key, std::string_view, std::string* attribute) {
    attribute->assign(key.substr(key.size() - 2));
    return true;
  };
  Peer peer = Serve({}, {{"tail", last_two}});
  peer.on = "@tail";
  std::set<std::string> tails;
  const Rows few(here_.begin(), std::next(here_.begin(), 20));
  for (const auto& [key, value] : few) tails.insert(key.substr(key.size() - 2));
  ResultRows expected;
  for (const auto& [key, value] : there_) {
    if (tails.count(key.substr(key.size() - 2)) != 0) expected.push_back(key + "=" + value);
  }
  InputOptions by_tail;
  by_tail.on = "@mine";
  by_tail.extractors["mine"] = last_two;
  const std::string upper = std::next(here_.begin(), 20)->first;
  const rocksdb::Slice bound(upper);
  rocksdb::ReadOptions read;
  read.iterate_upper_bound = &bound;
  ResultRows joined = Joined(Operation::kIntersection, Here(read, by_tail), peer);
  std::sort(joined.begin(), joined.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(joined, expected);
}

TEST_F(JoinApi, ShardsAreJoinedTogether) {
  // What is there, in two databases.
  Rows parts[2];
  for (const auto& [key, value] : there_) parts[key.back() % 2][key] = value;
  Peer peer;
  peer.credentials.insecure = true;
  std::vector<std::unique_ptr<rocksdb::DB>> dbs;
  std::vector<std::unique_ptr<AnsweringServer>> servers(2);
  for (int i = 0; i < 2; i++) {
    dbs.push_back(Make("shard" + std::to_string(i), parts[i]));
    ServedDatabase served;
    served.db = dbs.back().get();
    const rocksdb::Status status =
        AnsweringServer::Start(served, "127.0.0.1:0", peer.credentials, {}, &servers[i]);
    ASSERT_TRUE(status.ok()) << status.ToString();
    peer.addresses.push_back("127.0.0.1:" + std::to_string(servers[i]->port()));
  }
  EXPECT_EQ(Joined(Operation::kIntersection, Here(), peer), RowsOf(there_, here_, true));
  EXPECT_EQ(Joined(Operation::kDifference, Here(), peer), RowsOf(there_, here_, false));
  EXPECT_EQ(Joined(Operation::kLocalOnly, Here(), peer), RowsOf(here_, there_, false, "local "));
  JoinReport report;
  JoinOptions options;
  options.report_ranges = true;
  Joined(Operation::kCount, Here(), peer, options, &report);
  EXPECT_TRUE(report.keys_are_known);
  EXPECT_EQ(report.matched_keys, RowsOf(there_, here_, true).size());
  EXPECT_EQ(report.local_only_keys, RowsOf(here_, there_, false).size());
  EXPECT_EQ(report.range_reports.size(), report.ranges);
  EXPECT_EQ(report.attempts, 2u);
  servers.clear();
}

TEST_F(JoinApi, SstRepairsAReplica) {
  const Peer peer = Serve();
  const std::string file = directory_ + "/missing.sst";
  uint64_t rows = 0;
  rocksdb::Status status =
      JoinToSst(Operation::kDifference, Here(), peer, {}, rocksdb::Options(), file, &rows, nullptr);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(rows, RowsOf(there_, here_, false).size());
  ASSERT_TRUE(here_db_->IngestExternalFile({file}, {}).ok());
  EXPECT_EQ(Joined(Operation::kDifference, Here(), peer), ResultRows());
  // Nothing is lacking any more, and there is no file.
  std::filesystem::remove(file);
  status =
      JoinToSst(Operation::kDifference, Here(), peer, {}, rocksdb::Options(), file, &rows, nullptr);
  EXPECT_TRUE(status.ok() && rows == 0 && !std::filesystem::exists(file)) << status.ToString();
}

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

  other = peer;
  other.credentials.insecure = false;
  EXPECT_FALSE(join(other).ok());
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
