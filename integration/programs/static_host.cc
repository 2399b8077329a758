// A program with a RocksDB of its own inside, such as Rust, Go and Java packages bring: opens a
// database with the options that it has, and keeps it open until its input ends.
#include <rocksdb/db.h>
#include <rocksdb/utilities/options_util.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::Status status =
      rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), argv[1], &options, &families);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  if (status.ok()) status = rocksdb::DB::Open(options, argv[1], families, &handles, &db);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  delete db;
  return 0;
}
