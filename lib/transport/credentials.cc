#include "lib/transport/credentials.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <utility>

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "lib/transport/address.h"
#include "lib/transport/certificate_check.h"

namespace rocksieve::join {
namespace {

absl::Status ReadPem(const std::string& path, const char* what, std::string* pem) {
  if (path.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(what,
                     " is missing: rocksieve certs makes certificates for trying things out, "
                     "and --insecure does without on one machine"));
  }
  std::ifstream file(path, std::ios::binary);
  pem->assign(std::istreambuf_iterator<char>(file), {});
  if (!file || !absl::StrContains(*pem, "-----BEGIN ")) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot use ", path, " as ", what,
                     ": it is not there, may not be read by this user, or is not in PEM form"));
  }
  return absl::OkStatus();
}

struct Pem {
  std::string authority, certificate, key;
};

absl::StatusOr<Pem> ReadIdentity(const Identity& identity) {
  Pem pem;
  absl::Status status =
      ReadPem(identity.authority_file, "the authority's certificate", &pem.authority);
  if (status.ok()) status = ReadPem(identity.certificate_file, "the certificate", &pem.certificate);
  if (status.ok()) status = ReadPem(identity.key_file, "the certificate's key", &pem.key);
  if (status.ok()) status = CheckIsPrivate(identity.key_file);
  if (status.ok()) status = CheckAuthority(identity.authority_file, pem.authority);
  if (status.ok()) {
    status = CheckPair(identity.certificate_file, pem.certificate, identity.key_file, pem.key);
  }
  if (!status.ok()) return status;
  return pem;
}

absl::Status CheckInsecure(const std::string& address, const Security& security) {
  const Identity& identity = security.identity;
  for (const std::string& file :
       {identity.authority_file, identity.certificate_file, identity.key_file}) {
    if (file.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--insecure is without TLS, and ", file,
                     " is for it: leave out --insecure, or --certs, --ca, --cert and --key"));
  }
  if (security.insecure_network || IsLocal(address)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      address,
      " can be reached from other machines, and --insecure sends everything "
      "unprotected: use certificates (rocksieve certs), or say --insecure-network too"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsFor(
    const std::string& address, const Security& security) {
  if (security.insecure) {
    const absl::Status status = CheckInsecure(address, security);
    if (!status.ok()) return status;
    return grpc::InsecureServerCredentials();
  }
  absl::StatusOr<Pem> pem = ReadIdentity(security.identity);
  if (!pem.ok()) return pem.status();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pem->authority;
  options.pem_key_cert_pairs.push_back({pem->key, pem->certificate});
  return grpc::SslServerCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsFor(
    const std::string& address, const Security& security) {
  if (security.insecure) {
    const absl::Status status = CheckInsecure(address, security);
    if (!status.ok()) return status;
    return grpc::InsecureChannelCredentials();
  }
  absl::StatusOr<Pem> pem = ReadIdentity(security.identity);
  if (!pem.ok()) return pem.status();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pem->authority;
  options.pem_private_key = pem->key;
  options.pem_cert_chain = pem->certificate;
  return grpc::SslCredentials(options);
}

absl::Status CheckIsPrivate(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return absl::OkStatus();
  const unsigned mode = file.st_mode & 0777;
  if ((mode & 077) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " has a secret, and other users may use the file (mode ",
                   absl::StrFormat("%04o", mode), "): chmod 600 ", path));
}

}  // namespace rocksieve::join
