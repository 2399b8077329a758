// SPDX-License-Identifier: Apache-2.0
// That a comparison adds nothing to the block cache of a program whose database it reads, nor takes
// anything out, by RocksDB's own counts.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#if __has_include(<rocksdb/advanced_cache.h>)  // since 8.1
#include <rocksdb/advanced_cache.h>
#endif
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksieve/join/diff.h>
#include <rocksieve/join/server.h>

#include "integration/diff_api.h"

namespace rocksieve::join {
namespace {

// Of this side and as a server, in the process that has the database open and in use.
TEST_F(DiffApi, LeavesTheBlockCacheOfTheOwnerAlone) {
  constexpr int kRows = 2000;
  for (const bool caches_indexes : {false, true}) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(8 << 20, /*num_shard_bits=*/0);
    table.cache_index_and_filter_blocks = caches_indexes;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::Options options;
    options.create_if_missing = true;
    options.statistics = rocksdb::CreateDBStatistics();
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    const std::string path = directory_ + (caches_indexes ? "/indexes" : "/blocks");
    std::unique_ptr<rocksdb::DB> db;
    ASSERT_TRUE(rocksdb::DB::Open(options, path, Into(&db)).ok());
    for (int i = 0; i < kRows; i++)
      Put(db.get(), "row" + std::to_string(i), std::string(1000, 'x'));
    ASSERT_TRUE(db->Flush(rocksdb::FlushOptions()).ok());
    db.reset();
    ASSERT_TRUE(rocksdb::DB::Open(options, path, Into(&db)).ok());
    const auto read_some = [&] {
      std::string value;
      for (int i = 0; i < kRows; i += 100) {
        EXPECT_TRUE(db->Get({}, "row" + std::to_string(i), &value).ok());
      }
    };
    const auto count = [&](uint32_t ticker) { return options.statistics->getTickerCount(ticker); };
    read_some();
    const size_t used = table.block_cache->GetUsage();
    const uint64_t added = count(rocksdb::BLOCK_CACHE_ADD),
                   missed = count(rocksdb::BLOCK_CACHE_MISS);
    EXPECT_GT(added, 0u);

    Input input;
    ASSERT_TRUE(Input::OfDatabase(db.get(), nullptr, {}, {}, &input).ok());
    ServedDatabase served;
    served.db = db.get();
    Credentials credentials;
    credentials.insecure = true;
    ASSERT_TRUE(JoinServer::Start(served, "127.0.0.1:0", credentials, {}, &server_).ok());
    Peer peer;
    peer.addresses = {"127.0.0.1:" + std::to_string(server_->port())};
    peer.credentials = credentials;
    DiffOptions rechecks;
    rechecks.recheck = std::chrono::milliseconds(1);
    const uint64_t blocks_read = count(rocksdb::NON_LAST_LEVEL_READ_COUNT);
    EXPECT_EQ(Lines(input, peer), std::vector<std::string>());
    EXPECT_EQ(Lines(input, input), std::vector<std::string>());
    EXPECT_GT(Lines(input, There(), rechecks).size(), size_t{kRows});
    EXPECT_GT(Lines(Here(), peer, rechecks).size(), size_t{kRows});
    EXPECT_GT(count(rocksdb::NON_LAST_LEVEL_READ_COUNT), blocks_read);  // they came from the files

    EXPECT_EQ(count(rocksdb::BLOCK_CACHE_ADD), added);
    EXPECT_EQ(table.block_cache->GetUsage(), used);
    const uint64_t by_scans = count(rocksdb::BLOCK_CACHE_MISS) - missed;
    read_some();  // of blocks that are all there still
    EXPECT_EQ(count(rocksdb::BLOCK_CACHE_MISS) - missed, by_scans);
    EXPECT_EQ(count(rocksdb::BLOCK_CACHE_ADD), added);
    server_.reset();
  }
}

}  // namespace
}  // namespace rocksieve::join
