// SPDX-License-Identifier: Apache-2.0
// Scans that walk through table files give what RocksDB's iterator gives; what cannot be walked
// goes through the iterator.
#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/utilities/transaction_db.h>

#include "fuzz/tree_walk_case.h"
#include "integration/join_support.h"

namespace rocksieve::join {
namespace {

TEST(TreeWalk, IsWhatTheIteratorShowsOfRandomHistories) {
  const char* const wanted = std::getenv("ROCKSIEVE_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 150;
  Random random = SeededRandom(11);
  int scans = 0, walked = 0;
  std::map<std::string, int> why_not;
  for (int round = 0; round < rounds; round++) {
    std::string input(1000 + random() % 6000, '\0');
    for (char& byte : input) byte = static_cast<char>(random());
    fuzz::TreeWalkCase history(input);
    ASSERT_EQ(history.Run(), "") << "round " << round;
    scans += history.scans();
    walked += history.walked_scans();
    for (const std::string& reason : history.why_not_walked()) {
      why_not[reason.substr(reason.find(": ") + 1)]++;
    }
  }
  for (const auto& [reason, times] : why_not) std::printf("%5d %s\n", times, reason.c_str());
  EXPECT_GT(walked, scans / 3) << "of " << scans;
}

}  // namespace
}  // namespace rocksieve::join
