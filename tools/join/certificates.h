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

// DIR/server and DIR/client have what a node needs, ca.crt and its own certificate and key: ECDSA
// keys on P-256, readable by their owner only. DIR/authority, which only its owner may enter, has
// ca.key, which signs: whoever has it is a node. Overwrites nothing.
absl::Status MakeCertificates(const CertificateOptions& options);

}  // namespace rocksieve::tools
