// Who may talk to whom: TLS on both sides, or, if asked for, nothing.
#pragma once

#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

namespace rocksieve::join {

// Files in PEM form.
struct Identity {
  std::string authority_file;    // whose signature the other side's certificate must have
  std::string certificate_file;  // this side's
  std::string key_file;
};

struct Security {
  Identity identity;
  // No TLS: whoever is on the way reads along. Only for addresses of this machine, unless
  // `insecure_network` is set as well.
  bool insecure = false;
  bool insecure_network = false;
  // Client: the name that the server's certificate must have, if it is not that of the address.
  std::string server_name;
};

// FailedPrecondition if the address and the flags do not fit, or a file cannot be used;
// InvalidArgument if there are certificates, and they are not to be used.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsFor(
    const std::string& address, const Security& security);
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsFor(
    const std::string& address, const Security& security);

// FailedPrecondition, with the remedy, if other users may read or write the file. OK if it is not
// there: whoever reads it says so better.
absl::Status CheckIsPrivate(const std::string& path);

}  // namespace rocksieve::join
