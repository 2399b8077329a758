// SPDX-License-Identifier: Apache-2.0
// Orders on one node, customers on another: which orders are of our customers?
//
//   semi_join orders DIRECTORY               the node with the orders; answers until its input ends
//   semi_join customers DIRECTORY ADDRESS    the node with the customers; asks, and prints
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksieve/join/join.h>
#include <rocksieve/join/server.h>

namespace {

using namespace rocksieve::join;

constexpr int kOrders = 100000, kAllCustomers = 20000;

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "semi_join: %s\n", status.ToString().c_str());
  std::exit(1);
}

std::unique_ptr<rocksdb::DB> Open(const std::string& directory) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, directory, &db));
  return std::unique_ptr<rocksdb::DB>(db);
}

// An order's key is its number; its value is JSON, and says which customer it is of.
int AnswerForOrders(const std::string& directory) {
  const std::unique_ptr<rocksdb::DB> db = Open(directory);
  for (int i = 0; i < kOrders; i++) {
    const std::string customer = std::to_string(i * 7919LL % kAllCustomers);
    Check(db->Put(rocksdb::WriteOptions(), "order" + std::to_string(i),
                  R"({"customer": {"id": ")" + customer + R"("}, "cents": )" +
                      std::to_string(i % 1000) + "}"));
  }
  Credentials credentials;
  credentials.insecure = true;  // an example, on one machine; else files with certificates
  std::unique_ptr<JoinServer> server;
  Check(JoinServer::Start({db.get()}, "127.0.0.1:0", credentials, ServeOptions(), &server));
  std::printf("127.0.0.1:%d\n", server->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

// A customer's key is the number. Every fourth customer is ours.
int AskForOrdersOfCustomers(const std::string& directory, const std::string& address) {
  const std::unique_ptr<rocksdb::DB> db = Open(directory);
  for (int i = 0; i < kAllCustomers; i += 4) {
    Check(db->Put(rocksdb::WriteOptions(), std::to_string(i), "a customer of ours"));
  }
  Input customers;
  Check(Input::OfDatabase(db.get(), nullptr, rocksdb::ReadOptions(), InputOptions(), &customers));
  Peer orders;
  orders.addresses = {address};
  orders.credentials.insecure = true;
  orders.on = "value.json(/customer/id)";  // theirs; ours are joined on their keys

  uint64_t count = 0;
  JoinReport report;
  Check(Join(
      Operation::kIntersection, customers, orders, JoinOptions(),
      [&count](const ResultRow&) {  // row.key is "order4", row.value its JSON
        count++;
        return rocksdb::Status::OK();
      },
      &report));
  std::printf("%d orders of %d customers\n", static_cast<int>(count),
              static_cast<int>(report.matched_keys));
  std::fprintf(stderr, "%d bytes sent, %d received, %d of them rows\n",
               static_cast<int>(report.wire_bytes_sent),
               static_cast<int>(report.wire_bytes_received),
               static_cast<int>(report.received.payload));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "orders" && argc == 3) return AnswerForOrders(argv[2]);
  if (role == "customers" && argc == 4) return AskForOrdersOfCustomers(argv[2], argv[3]);
  std::fprintf(stderr, "usage: semi_join orders DIRECTORY | customers DIRECTORY ADDRESS\n");
  return 2;
}
