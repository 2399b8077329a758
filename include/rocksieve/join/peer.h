// SPDX-License-Identifier: Apache-2.0
// Who is joined with, and how the two prove to each other who they are.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>
#include <rocksieve/join/export.h>

namespace rocksieve::join {

// TLS on both sides, unless `insecure`.
struct Credentials {
  // Files in PEM form: whose signature the other side's certificate must have; this side's own.
  // None if `insecure`.
  std::string authority_file, certificate_file, key_file;
  // Without TLS: whoever is on the way reads along, and can change rows. For addresses of this
  // machine only, unless `insecure_network` is set as well.
  bool insecure = false;
  bool insecure_network = false;
};

struct Peer {
  // host:port, unix:/path, or what gRPC resolves, such as dns:///name:port. Several are shards,
  // which have a part each of the rows there: they are joined with at once, this side is read once
  // for all of them, and rows come when all are done. An error of one ends the join.
  std::vector<std::string> addresses;
  Credentials credentials;
  std::string server_name;  // that its certificate must have, if not that of the address
  std::string token;        // empty: none
  // What of it: a column family (empty: the first that it serves), and what its rows are joined on
  // (as InputOptions::on; "@name" is an extractor there).
  std::string column_family, on;
};

// The secrets of a file, for Peer::token and ServeOptions::tokens: one per line; empty lines and
// those that begin with # do not count. InvalidArgument if there is none, one of them is shorter
// than 16 characters or not printable, or other users may read the file.
ROCKSIEVE_EXPORT rocksdb::Status ReadTokens(const std::string& path,
                                            std::vector<std::string>* tokens);

// "a:1,b:2" -> {"a:1", "b:2"}. InvalidArgument if one is none to connect to, or comes twice.
ROCKSIEVE_EXPORT rocksdb::Status SplitAddresses(const std::string& list,
                                                std::vector<std::string>* addresses);

}  // namespace rocksieve::join
