#include "plugin/join_api/credentials.h"

namespace rocksieve::join {

Security SecurityOf(const Credentials& credentials, const std::string& server_name) {
  Security security;
  security.identity = {credentials.authority_file, credentials.certificate_file,
                       credentials.key_file};
  security.insecure = credentials.insecure;
  security.insecure_network = credentials.insecure_network;
  security.server_name = server_name;
  return security;
}

}  // namespace rocksieve::join
