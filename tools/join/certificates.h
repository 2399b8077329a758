// Certificates for trying things out: an authority of our own, and what it signs.
#pragma once

#include <string>
#include <vector>

#include <absl/status/status.h>

namespace rocksieve::tools {

struct CertificateOptions {
  std::string directory;           // made if it is not there
  std::vector<std::string> names;  // of the server: host names and IP addresses
  int days = 30;
};

// ca.crt, ca.key, server.crt, server.key, client.crt, client.key: ECDSA keys on P-256, readable by
// their owner only. Overwrites nothing.
absl::Status MakeCertificates(const CertificateOptions& options);

}  // namespace rocksieve::tools
