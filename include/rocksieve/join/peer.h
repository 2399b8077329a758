// Who is joined with, and how the two prove to each other who they are.
#pragma once

#include <string>
#include <vector>

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

}  // namespace rocksieve::join
