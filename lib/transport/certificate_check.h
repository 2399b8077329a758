// Whether certificates and keys can be used at all: gRPC does not say which file is wrong.
#pragma once

#include <string>

#include <absl/status/status.h>

namespace rocksieve::join {

// FailedPrecondition that names the file if there is no certificate in it, or none is valid now.
absl::Status CheckAuthority(const std::string& path, const std::string& pem);

// The same for the first certificate, of whoever shows it; and if the key is not its key.
absl::Status CheckPair(const std::string& certificate_path, const std::string& certificate_pem,
                       const std::string& key_path, const std::string& key_pem);

}  // namespace rocksieve::join
