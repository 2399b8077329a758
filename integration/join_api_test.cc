// SPDX-License-Identifier: Apache-2.0
// Joins by the public API alone, between databases, files and servers in this process; results are
// compared with those of maps.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <rocksdb/comparator.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include "integration/join_api.h"

namespace rocksieve::join {
namespace {

// Programs that were written with the names before still compile.
static_assert(std::is_same_v<AnsweringServer, JoinServer>);
static_assert(std::is_same_v<AnsweringService, JoinService>);

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

  // Several lines of a key, in any order of their values.
  Rows values = there_;
  lines.open(text);
  for (const auto& [key, value] : here_) {
    lines << key << "\t" << value << "\n" << key << "\t" << values[key] << "\n";
  }
  lines.close();
  InputOptions by_row;
  Peer rows = peer;
  by_row.on = rows.on = "row";
  JoinOptions small_ranges;
  small_ranges.keys_per_range = 5;
  ASSERT_TRUE(Input::OfSortedText(text, by_row, &input).ok());
  EXPECT_EQ(Joined(Operation::kIntersection, input, rows, small_ranges),
            RowsOf(there_, here_, true));

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

// As in one thread, with one server or two.
TEST_F(JoinApi, SeveralThreads) {
  const Peer all = Serve();
  Rows parts[2];
  for (const auto& [key, value] : there_) parts[key.back() % 2][key] = value;
  Peer halves;
  halves.credentials.insecure = true;
  std::vector<std::unique_ptr<rocksdb::DB>> dbs;
  std::vector<std::unique_ptr<JoinServer>> servers(2);
  for (int i = 0; i < 2; i++) {
    dbs.push_back(Make("half" + std::to_string(i), parts[i]));
    ServedDatabase served;
    served.db = dbs.back().get();
    ServeOptions serve;
    serve.threads = 3;
    const rocksdb::Status status =
        JoinServer::Start(served, "127.0.0.1:0", all.credentials, serve, &servers[i]);
    ASSERT_TRUE(status.ok()) << status.ToString();
    halves.addresses.push_back("127.0.0.1:" + std::to_string(servers[i]->port()));
  }
  for (const Peer& peer : {all, halves}) {
    for (const int threads : {2, 5}) {
      for (const std::string strategy : {"auto", "keys", "sketch"}) {
        JoinOptions options;
        options.threads = threads;
        options.keys_per_range = 20;
        options.strategy = strategy;
        EXPECT_EQ(Joined(Operation::kIntersection, Here(), peer, options),
                  RowsOf(there_, here_, true));
        EXPECT_EQ(Joined(Operation::kDifference, Here(), peer, options),
                  RowsOf(there_, here_, false));
        EXPECT_EQ(Joined(Operation::kLocalOnly, Here(), peer, options),
                  RowsOf(here_, there_, false, "local "));
      }
    }
  }
  for (const int threads : {0, 65}) {
    JoinOptions options;
    options.threads = threads;
    const rocksdb::Status status = Join(Operation::kCount, Here(), all, options, nullptr, nullptr);
    EXPECT_NE(status.ToString().find("threads is"), std::string::npos) << status.ToString();
  }
}

TEST_F(JoinApi, AJoinForALink) {
  const Peer peer = Serve();
  for (const uint64_t bytes_per_second : {uint64_t{1000}, uint64_t{125'000'000'000}}) {
    JoinOptions options;
    options.link_bytes_per_second = bytes_per_second;
    JoinReport report;
    EXPECT_EQ(Joined(Operation::kIntersection, Here(), peer, options, &report),
              RowsOf(there_, here_, true));
  }
  JoinOptions options;
  options.link_bytes_per_second = 125'000'000'001;
  const rocksdb::Status status = Join(Operation::kCount, Here(), peer, options, nullptr, nullptr);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
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
  const auto last_two = [](std::string_view key, std::string_view, std::string* join_key) {
    join_key->assign(key.substr(key.size() - 2));
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

// Where they are sorted anew.
TEST_F(JoinApi, PrefixesOfKeysInAnotherOrder) {
  Peer peer = Serve();
  InputOptions by_prefix;
  by_prefix.on = peer.on = "key.bytes(0,5)";
  rocksdb::Options options;
  options.comparator = rocksdb::ReverseBytewiseComparator();
  const Rows few(here_.begin(), std::next(here_.begin(), 20));
  const auto reverse = Make("reverse", few, options), bytewise = Make("bytewise", few);
  ResultRows joined[2];
  for (const auto* db : {&reverse, &bytewise}) {
    Input input;
    ASSERT_TRUE(Input::OfDatabase(db->get(), nullptr, {}, by_prefix, &input).ok());
    ResultRows& rows = joined[db == &bytewise];
    rows = Joined(Operation::kIntersection, input, peer);
    std::sort(rows.begin(), rows.end());
  }
  EXPECT_FALSE(joined[0].empty());
  EXPECT_EQ(joined[0], joined[1]);
}

TEST_F(JoinApi, ShardsAreJoinedTogether) {
  // What is there, in two databases.
  Rows parts[2];
  for (const auto& [key, value] : there_) parts[key.back() % 2][key] = value;
  Peer peer;
  peer.credentials.insecure = true;
  std::vector<std::unique_ptr<rocksdb::DB>> dbs;
  std::vector<std::unique_ptr<JoinServer>> servers(2);
  for (int i = 0; i < 2; i++) {
    dbs.push_back(Make("shard" + std::to_string(i), parts[i]));
    ServedDatabase served;
    served.db = dbs.back().get();
    const rocksdb::Status status =
        JoinServer::Start(served, "127.0.0.1:0", peer.credentials, {}, &servers[i]);
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
  // Of a key that both have, the row of the first.
  for (int i = 0; i < 2; i++) ASSERT_TRUE(dbs[i]->Put({}, "shared", std::to_string(i)).ok());
  const std::string file = directory_ + "/shards.sst";
  uint64_t rows = 0;
  const rocksdb::Status status =
      JoinToSst(Operation::kDifference, Here(), peer, {}, rocksdb::Options(), file, &rows, nullptr);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(rows, RowsOf(there_, here_, false).size() + 1);
  ASSERT_TRUE(here_db_->IngestExternalFile({file}, {}).ok());
  std::string value;
  EXPECT_TRUE(here_db_->Get({}, "shared", &value).ok() && value == "0") << value;
  servers.clear();
}

TEST_F(JoinApi, DatabasesOfOtherProcessesAreInputsAndServed) {
  // Some rows in files, the others in the write-ahead log alone; the owners go on.
  ASSERT_TRUE(here_db_->Flush(rocksdb::FlushOptions()).ok());
  here_["key here alone"] = "late";
  ASSERT_TRUE(here_db_->Put(rocksdb::WriteOptions(), "key here alone", "late").ok());
  Input here;
  ASSERT_TRUE(Input::OfDirectory(directory_ + "/here", "", {}, &here).ok());
  EXPECT_EQ(Joined(Operation::kLocalOnly, here, Serve()), RowsOf(here_, there_, false, "local "));

  ServedDatabase served;
  served.directory = directory_ + "/there";
  Peer peer;
  peer.credentials.insecure = true;
  std::unique_ptr<JoinServer> server;
  rocksdb::Status status = JoinServer::Start(served, "127.0.0.1:0", peer.credentials, {}, &server);
  ASSERT_TRUE(status.ok()) << status.ToString();
  peer.addresses = {"127.0.0.1:" + std::to_string(server->port())};
  EXPECT_EQ(Joined(Operation::kIntersection, here, peer), RowsOf(there_, here_, true));
  there_["key there alone"] = "late";
  ASSERT_TRUE(there_db_->Put(rocksdb::WriteOptions(), "key there alone", "late").ok());
  EXPECT_EQ(Joined(Operation::kDifference, here, peer), RowsOf(there_, here_, false));

  served.column_family_names = {"no such family"};
  status = JoinServer::Start(served, "127.0.0.1:0", peer.credentials, {}, &server);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  served.db = there_db_.get();  // both
  status = JoinServer::Start(served, "127.0.0.1:0", peer.credentials, {}, &server);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  ASSERT_TRUE(Input::OfDirectory(directory_ + "/nowhere", "", {}, &here).ok());
  EXPECT_FALSE(Join(Operation::kCount, here, peer, {}, nullptr, nullptr).ok());
}

// Both sides have filters that RocksDB's own policy made.
TEST_F(JoinApi, FiltersOfRocksDbsOwnPoliciesGoFirst) {
  for (std::unique_ptr<rocksdb::DB>* db : {&here_db_, &there_db_}) {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::Options options;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    const std::string name = (*db)->GetName();
    db->reset();
    ASSERT_TRUE(rocksdb::DB::Open(options, name, Into(db)).ok());
    ASSERT_TRUE((*db)->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  }
  JoinOptions options;
  options.strategy = "sst-filters";
  JoinReport report;
  EXPECT_EQ(Joined(Operation::kIntersection, Here(), Serve(), options, &report),
            RowsOf(there_, here_, true));
  ASSERT_EQ(report.servers.size(), 1u);
  const ServerReport& server = report.servers.front();
  EXPECT_TRUE(server.sst_filters_were_used) << server.sst_filters_note;
  EXPECT_GT(server.sst_filters, 0u);
  EXPECT_GT(server.sst_filters_pruned_keys, 0u);
}

TEST_F(JoinApi, PlansNameStrategiesAndJoinNothing) {
  std::vector<JoinPlan> plans;
  const Peer peer = Serve();
  const rocksdb::Status status = PlanJoin(Here(), peer, JoinOptions(), &plans);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(plans.size(), 1u);
  const JoinPlan& plan = plans.front();
  EXPECT_EQ(plan.address, peer.addresses.front());
  EXPECT_EQ(plan.range_local_keys, here_.size());
  EXPECT_EQ(plan.range_remote_keys, there_.size());
  EXPECT_FALSE(plan.range_is_equal);
  ASSERT_FALSE(plan.strategies.empty());
  EXPECT_TRUE(std::is_sorted(plan.strategies.begin(), plan.strategies.end(),
                             [](const auto& a, const auto& b) { return a.bits < b.bits; }));
  for (const JoinPlan::Strategy& strategy : plan.strategies) {
    EXPECT_NE(JoinStrategies().find(strategy.name), std::string::npos) << strategy.name;
  }
}

TEST_F(JoinApi, PlansAreOfTheKeysAndWithinTheMemoryThatWereAskedFor) {
  const Peer peer = Serve();
  JoinOptions options;
  options.begin = "key2";
  options.end = "key5";
  const auto keys_of = [&options](const Rows& rows) {
    return std::distance(rows.lower_bound(options.begin), rows.lower_bound(*options.end));
  };
  std::vector<JoinPlan> plans;
  rocksdb::Status status = PlanJoin(Here(), peer, options, &plans);
  ASSERT_TRUE(status.ok() && plans.size() == 1) << status.ToString();
  EXPECT_EQ(plans.front().range_local_keys, static_cast<uint64_t>(keys_of(here_)));
  EXPECT_EQ(plans.front().range_remote_keys, static_cast<uint64_t>(keys_of(there_)));
  options.memory_bytes = 1000;  // for thousands of keys
  status = PlanJoin(Here(), peer, options, &plans);
  EXPECT_TRUE(status.IsBusy()) << status.ToString();
  EXPECT_TRUE(plans.empty());
}

TEST_F(JoinApi, FilesOfTextAppearWhenTheyAreComplete) {
  const Peer peer = Serve();
  ResultFile file;
  file.path = directory_ + "/rows.tsv";
  uint64_t rows = 0, ranges = 0, keys = 0;
  JoinOptions options;
  options.keys_per_range = 1000;
  options.keys_expected = [&keys](uint64_t more) { keys += more; };
  options.range_done = [&](const RangeSummary& range) {
    ranges += range.local_keys > 0 ? 1 : 0;
    EXPECT_EQ(range.address, peer.addresses.front());
    EXPECT_FALSE(std::filesystem::exists(file.path));
  };
  rocksdb::Status status =
      JoinToFile(Operation::kSymmetric, Here(), peer, options, file, &rows, nullptr);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_GT(ranges, 1u);
  EXPECT_GT(keys, 0u);
  std::ifstream lines(file.path);
  ResultRows found, expected;
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  EXPECT_EQ(found.size(), rows);
  for (const auto& [key, value] : here_) {
    if (there_.count(key) == 0) expected.push_back("local\t" + key + "\t" + value);
  }
  for (const auto& [key, value] : there_) {
    if (here_.count(key) == 0) expected.push_back("remote\t" + key + "\t" + value);
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);

  file.format = RowFormat::kSst;
  file.path = "-";
  status = JoinToFile(Operation::kDifference, Here(), peer, options, file, &rows, nullptr);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  file.path = directory_;
  file.format = RowFormat::kJson;
  status = JoinToFile(Operation::kDifference, Here(), peer, options, file, &rows, nullptr);
  EXPECT_NE(status.ToString().find("is a directory"), std::string::npos) << status.ToString();
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

}  // namespace
}  // namespace rocksieve::join
