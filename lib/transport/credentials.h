// SPDX-License-Identifier: Apache-2.0
// Who may talk to whom: TLS on both sides, or, if asked for, nothing; and tokens beside that. What
// addresses look like, and what they say about who can hear us.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

namespace rocksieve::join {

struct Security {
  // In PEM form: whose signature the other side's certificate must have; this side's own.
  std::string authority_file, certificate_file, key_file;
  // No TLS: whoever is on the way reads along. Only for addresses of this machine, unless
  // `insecure_network` is set as well.
  bool insecure = false;
  bool insecure_network = false;
};

// FailedPrecondition if the address and the flags do not fit, or a file cannot be used;
// InvalidArgument if there are certificates, and they are not to be used.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsFor(
    const std::string& address, const Security& security);
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsFor(
    const std::string& address, const Security& security);

// Whether certificates and keys can be used at all, for gRPC does not say which file is wrong:
// FailedPrecondition that names the file if there is no certificate in it, or none is valid now.
absl::Status CheckAuthority(const std::string& path, const std::string& pem);
// The same for the first certificate, of whoever shows it; and if the key is not its key.
absl::Status CheckPair(const std::string& certificate_path, const std::string& certificate_pem,
                       const std::string& key_path, const std::string& key_pem);

// A bearer token in the metadata of a call: "authorization: Bearer TOKEN".
inline constexpr char kTokenMetadata[] = "authorization";
inline constexpr char kTokenScheme[] = "Bearer ";

// One per line; empty lines and those that begin with # do not count. InvalidArgument if there is
// none, or one of them is shorter than 16 characters or not printable; FailedPrecondition if other
// users may read or write the file.
absl::StatusOr<std::vector<std::string>> ReadTokens(const std::string& path);

// Takes as long for wrong ones as for right ones.
bool IsToken(std::string_view given, const std::vector<std::string>& tokens);

// "127.0.0.1:7", "localhost:7", "[::1]:7", "unix:/path": nobody outside of this machine. Names
// other than localhost are not looked up.
bool IsLocal(const std::string& address);

// "unix:/path" -> "/path"; nothing for other addresses.
std::optional<std::string> UnixSocketPath(const std::string& address);

// "dns:///name:1" -> "name", "1"; "[::1]:1" -> "::1", "1". REQUIRES: not of a unix socket, and OK
// by CheckAddress().
std::pair<std::string, std::string> HostAndPort(const std::string& address);

enum class AddressUse { kConnect, kListen };

// InvalidArgument that says what is wrong if an address has no host, or no port of 1 to 65535; 0 is
// one to listen on. Names are not looked up.
absl::Status CheckAddress(const std::string& address, AddressUse use);

// "a:1,b:2" -> {"a:1", "b:2"}; InvalidArgument if one is none to connect to, or comes twice.
absl::StatusOr<std::vector<std::string>> SplitAddresses(const std::string& list);

}  // namespace rocksieve::join
