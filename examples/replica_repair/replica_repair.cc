// SPDX-License-Identifier: Apache-2.0
// A replica that lost rows, has old values, and kept what was deleted: made equal again, with bytes
// for what differs only.
//
//   replica_repair DIRECTORY
//
// Both databases are in this process, with a connection between them; they could as well be far
// from each other.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>
#include <rocksieve/join/diff.h>
#include <rocksieve/join/server.h>

namespace {

using namespace rocksieve::join;

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "replica_repair: %s\n", status.ToString().c_str());
  std::exit(1);
}

std::unique_ptr<rocksdb::DB> Open(const std::string& directory) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, directory, &db));
  return std::unique_ptr<rocksdb::DB>(db);
}

void Fill(rocksdb::DB* primary, rocksdb::DB* replica) {
  for (int i = 0; i < 200000; i++) {
    const std::string key = "key" + std::to_string(i), value = "value of " + key;
    const bool deleted = i % 5000 == 1, lost = i % 1000 == 2, old = i % 2000 == 3;
    if (!deleted) Check(primary->Put(rocksdb::WriteOptions(), key, value));
    if (!lost) Check(replica->Put(rocksdb::WriteOptions(), key, old ? "an old value" : value));
  }
}

bool AreEqual(rocksdb::DB* a, rocksdb::DB* b) {
  const std::unique_ptr<rocksdb::Iterator> left(a->NewIterator(rocksdb::ReadOptions()));
  const std::unique_ptr<rocksdb::Iterator> right(b->NewIterator(rocksdb::ReadOptions()));
  left->SeekToFirst();
  right->SeekToFirst();
  for (; left->Valid() && right->Valid(); left->Next(), right->Next()) {
    if (left->key() != right->key() || left->value() != right->value()) return false;
  }
  return !left->Valid() && !right->Valid();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string directory = argv[1];
  const std::unique_ptr<rocksdb::DB> primary = Open(directory + "_primary");
  const std::unique_ptr<rocksdb::DB> replica = Open(directory + "_replica");
  Fill(primary.get(), replica.get());

  // At the primary.
  ServedDatabase served;
  served.db = primary.get();
  Credentials credentials;
  credentials.insecure = true;  // an example, on one machine; else files with certificates
  std::unique_ptr<JoinServer> server;
  Check(JoinServer::Start(served, "127.0.0.1:0", credentials, ServeOptions(), &server));

  // At the replica: what differs, and how to make it equal.
  Peer peer;
  peer.addresses = {"127.0.0.1:" + std::to_string(server->port())};
  peer.credentials.insecure = true;
  Input rows;
  Check(Input::OfDatabase(replica.get(), nullptr, rocksdb::ReadOptions(), InputOptions(), &rows));
  rocksdb::WriteBatch repair;
  DiffReport report;
  Check(Diff(
      rows, peer, DiffOptions(),
      [&repair](const DifferentRow& row) {
        const rocksdb::Slice key(row.key.data(), row.key.size());
        if (row.difference == Difference::kLocalOnly) return repair.Delete(key);
        ReadableValue value;  // plain, as all are here; else it has columns
        const rocksdb::Status status = ReadValue(*row.remote_value, &value);
        return status.ok() ? repair.Put(key, {value.plain.data(), value.plain.size()}) : status;
      },
      &report));
  Check(replica->Write(rocksdb::WriteOptions(), &repair));
  std::printf("%d rows lost, %d old, %d too many\n", static_cast<int>(report.remote_only_rows),
              static_cast<int>(report.changed_rows), static_cast<int>(report.local_only_rows));
  std::fprintf(stderr, "%d bytes on the wire\n",
               static_cast<int>(report.join.wire_bytes_sent + report.join.wire_bytes_received));

  const bool equal = AreEqual(primary.get(), replica.get());
  std::printf("%s\n", equal ? "equal" : "NOT EQUAL");
  return equal ? 0 : 1;
}
