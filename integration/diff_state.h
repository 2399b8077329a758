// SPDX-License-Identifier: Apache-2.0
// Two sides with states of comparisons, for tests of comparisons that go on from the one before.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksieve/join/diff.h>
#include <rocksieve/join/server.h>

#include "integration/database.h"
#include "integration/diff_api.h"
#include "integration/random_history.h"
#include "integration/seed.h"

namespace rocksieve::join {

class DiffStateTest : public testing::TestWithParam<HistorySetting> {
 protected:
  DiffStateTest() {
    EXPECT_TRUE(Input::OfDirectory(directory_ + "here/db", "", {}, &input_).ok());
    Serve(directory_ + "there/db");
  }

  void Serve(const std::string& database) {
    ServedDatabase served;
    served.directory = database;
    served.column_family_names = {"*"};
    served.states_directory = directory_ + "there_states";
    Credentials credentials;
    credentials.insecure = true;
    server_.reset();
    Must(JoinServer::Start(served, "127.0.0.1:0", credentials, {}, &server_));
    peer_.addresses = {server_->address()};
    peer_.credentials = credentials;
  }

  // The same on both sides.
  void Live(int writes) {
    here_.Live(writes);
    there_.Live(writes);
  }

  // What only one side gets.
  void Diverge() {
    for (RandomHistory* side : {&here_, &there_}) {
      const uint64_t writes = here_.Below(4);
      there_.Below(4);  // they stay alike
      for (uint64_t i = 0; i < writes; i++) {
        const std::string key = "k0" + std::to_string(1000 + other_() % 2000);
        Must(other_() % 3 == 0 ? side->db()->Delete({}, key)
                               : side->db()->Put({}, key, std::to_string(other_() % 5)));
      }
    }
  }

  DiffReport ExpectExact(rocksdb::DB* there = nullptr) {
    if (there == nullptr) there = there_.db();
    Must(here_.db()->PauseBackgroundWork());
    Must(there->PauseBackgroundWork());
    std::vector<std::string> lines;
    DiffReport report;
    const rocksdb::Status status = Diff(
        input_, peer_, options_,
        [&](const DifferentRow& row) {
          lines.push_back(LineOf(row));
          return rocksdb::Status::OK();
        },
        &report);
    EXPECT_TRUE(status.ok()) << status.ToString();
    const std::vector<std::string> expected = LinesOf(RowsOf(here_.db()), RowsOf(there));
    if (options_.values) {
      EXPECT_EQ(expected, lines);
    } else {
      EXPECT_EQ(KeysOf(expected), KeysOf(lines));
    }
    EXPECT_EQ(lines.size(), report.local_only_rows + report.remote_only_rows + report.changed_rows);
    EXPECT_EQ(report.only_changes, report.why_full.empty());
    Must(here_.db()->ContinueBackgroundWork());
    Must(there->ContinueBackgroundWork());
    return report;
  }

  static std::vector<std::string> KeysOf(std::vector<std::string> lines) {
    for (std::string& line : lines) line.erase(std::min(line.size(), line.find('=')));
    return lines;
  }

  std::string MadeDirectory(const std::string& name) const {
    std::filesystem::create_directory(directory_ + name);
    return directory_ + name + "/";
  }

  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_ / "";
  RandomHistory here_{GetParam(), SeedOfThisRun(), MadeDirectory("here")};
  RandomHistory there_{GetParam(), SeedOfThisRun(), MadeDirectory("there")};
  std::mt19937_64 other_{SeedOfThisRun() + 1};
  std::unique_ptr<JoinServer> server_;
  Peer peer_;
  Input input_;
  DiffOptions options_ = [this] {
    DiffOptions options;
    options.state_directory = directory_ + "here_states";
    return options;
  }();
};

}  // namespace rocksieve::join
