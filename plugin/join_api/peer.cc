// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/join/peer.h>

#include <utility>

#include "lib/transport/address.h"
#include "plugin/join/status.h"
#include "plugin/join_api/peer_impl.h"

namespace rocksieve::join {

Security SecurityOf(const Credentials& credentials, const std::string& server_name) {
  return {{credentials.authority_file, credentials.certificate_file, credentials.key_file},
          credentials.insecure,
          credentials.insecure_network,
          server_name};
}

rocksdb::Status ReadTokens(const std::string& path, std::vector<std::string>* tokens) {
  absl::StatusOr<std::vector<std::string>> read = ReadTokens(path);
  if (read.ok()) *tokens = *std::move(read);
  return ToRocksDb(read.status());
}

rocksdb::Status SplitAddresses(const std::string& list, std::vector<std::string>* addresses) {
  absl::StatusOr<std::vector<std::string>> split = SplitAddresses(list);
  if (split.ok()) *addresses = *std::move(split);
  return ToRocksDb(split.status());
}

}  // namespace rocksieve::join
