// SPDX-License-Identifier: Apache-2.0
// A join allocates by the range, not by the key.
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "bench/allocations.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/server_session.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {
namespace {

std::string RandomKey(std::mt19937_64* random) {
  std::string key(16, '\0');
  for (char& byte : key) byte = static_cast<char>((*random)());
  return key;
}

struct Tables {
  MemorySource::Rows client, server;
};

Tables RandomTables(uint64_t keys, int common_percent) {
  std::mt19937_64 random(1);
  Tables tables;
  for (uint64_t i = 0; i < keys; i++) {
    tables.client.emplace_back(RandomKey(&random), "");
    const bool common = static_cast<int>(i % 100) < common_percent;
    tables.server.emplace_back(common ? tables.client.back().first : RandomKey(&random), "");
  }
  return tables;
}

// Of both sessions, from the scan to the rows that only the client has.
size_t AllocationsOf(uint64_t keys, int common_percent) {
  const Tables tables = RandomTables(keys, common_percent);
  MemorySource here(tables.client), there(tables.server);
  CountingSink sink;
  ClientSessionOptions options;
  options.operation = Operation::kLocalOnly;
  options.keys_per_range = 2 * keys;
  options.salt = 7;
  const bench::AllocationCounter counter;
  ClientSession client(&here, &sink, options);
  ServerSession server(&there, ServerSessionOptions());
  const Piped piped = RunPipe(&client, &server);
  const size_t allocations = counter.Allocations();
  EXPECT_TRUE(piped.status.ok()) << piped.status;
  EXPECT_TRUE(client.done());
  EXPECT_EQ(client.statistics().matched_keys, keys * static_cast<uint64_t>(common_percent) / 100);
  EXPECT_EQ(sink.rows, keys - client.statistics().matched_keys);
  return allocations;
}

TEST(JoinAllocations, HardlyGrowWithTheKeys) {
  for (const int percent : {0, 50, 90, 98}) {
    const size_t few = AllocationsOf(100'000, percent), many = AllocationsOf(400'000, percent);
    // What grows by doubling does so twice more, in each of many lists, and sketches have more
    // levels.
    EXPECT_LT(many, 2 * few) << percent << " %";
    EXPECT_LT(many, 6'000u) << percent << " %";
    RecordProperty("allocations_at_" + std::to_string(percent), static_cast<int>(many));
  }
}

}  // namespace
}  // namespace rocksieve::join
