// SPDX-License-Identifier: Apache-2.0
// Two databases with some keys in common, a server for one of them, and what sets say of them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/server.h>

#include "integration/seed.h"
#include "plugin/database/rocksdb_open.h"

namespace rocksieve::join {

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

  std::unique_ptr<rocksdb::DB> Make(const std::string& name, const Rows& rows,
                                    rocksdb::Options options = {}) {
    options.create_if_missing = true;
    std::unique_ptr<rocksdb::DB> db;
    EXPECT_TRUE(rocksdb::DB::Open(options, directory_ + "/" + name, Into(&db)).ok());
    for (const auto& [key, value] : rows) {
      EXPECT_TRUE(db->Put(rocksdb::WriteOptions(), key, value).ok());
    }
    return db;
  }

  // Serves the rows there.
  Peer Serve(const ServeOptions& options = {}, const Extractors& extractors = {}) {
    ServedDatabase served;
    served.db = there_db_.get();
    served.extractors = extractors;
    Credentials credentials;
    credentials.insecure = true;
    const rocksdb::Status status =
        JoinServer::Start(served, "127.0.0.1:0", credentials, options, &server_);
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
  std::unique_ptr<JoinServer> server_;
};

}  // namespace rocksieve::join
