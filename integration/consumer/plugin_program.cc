// SPDX-License-Identifier: Apache-2.0
// A database with our filters: plugin_program DIRECTORY
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/table.h>

#include <rocksieve/filter_policy.h>

static void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb::BlockBasedTableOptions table_options;
  Check(rocksieve::NewFilterPolicy("rocksieve.bloom:10", &table_options.filter_policy));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options));
  rocksdb::DB* opened = nullptr;
  Check(rocksdb::DB::Open(options, argv[1], &opened));
  const std::unique_ptr<rocksdb::DB> db(opened);

  constexpr int kKeys = 10000;
  for (int i = 0; i < kKeys; i += 2) {
    Check(db->Put(rocksdb::WriteOptions(), "key" + std::to_string(i), std::to_string(i)));
  }
  Check(db->Flush(rocksdb::FlushOptions()));
  int found = 0;
  std::string value;
  for (int i = 0; i < kKeys; i++) {
    const std::string key = "key" + std::to_string(i);
    const rocksdb::Status status = db->Get(rocksdb::ReadOptions(), key, &value);
    if (!status.IsNotFound()) Check(status);
    found += status.ok() && value == std::to_string(i);
  }
  rocksieve::FilterStats stats;
  Check(rocksieve::GetFilterStats(table_options.filter_policy.get(), &stats));
  std::printf("%d keys found, %d filters built with %d keys\n", found,
              static_cast<int>(stats.filters_built), static_cast<int>(stats.keys_added));
}
