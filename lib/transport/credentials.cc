// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/credentials.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr size_t kLeastTokenBytes = 16;
constexpr char kRemedy[] = "; rocksieve certs makes certificates for trying things out";

bool SameBytes(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); i++) {
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
  }
  return difference == 0;
}

// Whether systemd put it there for this service alone (systemd.exec(5), LoadCredential=).
bool IsOfServiceManager(const std::string& path) {
  const char* const directory = std::getenv("CREDENTIALS_DIRECTORY");
  return directory != nullptr && directory[0] != '\0' &&
         absl::StartsWith(path, absl::StrCat(directory, "/"));
}

// FailedPrecondition, with the remedy, if other users may read or write the file. OK if it is not
// there: whoever reads it says so better.
absl::Status CheckIsPrivate(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return absl::OkStatus();
  const unsigned mode = file.st_mode & 0777;
  // There the group's bits may be those of an access list that names the service's user: 0440.
  const unsigned of_others = IsOfServiceManager(path) ? 037 : 077;
  if ((mode & of_others) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " has a secret, and other users may use the file (mode ",
                   absl::StrFormat("%04o", mode), "): chmod 600 ", path));
}

template <typename T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* object) const { kFree(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Bytes = std::unique_ptr<BIO, Freer<BIO, BIO_free_all>>;

Bytes BytesOf(const std::string& pem) {
  return Bytes(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Null if there is none any more.
Certificate NextCertificate(BIO* bytes) {
  Certificate certificate(PEM_read_bio_X509(bytes, nullptr, nullptr, nullptr));
  ERR_clear_error();  // else whoever uses OpenSSL next in this thread finds it
  return certificate;
}

std::string TextOf(const ASN1_TIME* time) {
  const Bytes text(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(text.get(), time);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

// Not OK if it is not valid now.
absl::Status CheckTime(const std::string& path, const X509* certificate) {
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) < 0) {
    return absl::FailedPreconditionError(absl::StrCat("the certificate in ", path, " expired on ",
                                                      TextOf(end), ": make a new one", kRemedy));
  }
  if (X509_cmp_current_time(begin) > 0) {
    return absl::FailedPreconditionError(absl::StrCat("the certificate in ", path,
                                                      " is not valid before ", TextOf(begin),
                                                      ": is this machine's clock right?"));
  }
  return absl::OkStatus();
}

absl::Status NoCertificate(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("there is no certificate in ", path, " that can be read", kRemedy));
}

// What is encrypted is not asked for on a terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

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

absl::Status CheckInsecure(const std::string& address, const Security& security) {
  for (const std::string& file :
       {security.authority_file, security.certificate_file, security.key_file}) {
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

// What TLS with these needs; nothing if it is without TLS.
absl::StatusOr<std::optional<Pem>> PemFor(const std::string& address, const Security& security) {
  if (security.insecure) {
    RETURN_IF_ERROR(CheckInsecure(address, security));
    return std::nullopt;
  }
  Pem pem;
  RETURN_IF_ERROR(ReadPem(security.authority_file, "the authority's certificate", &pem.authority));
  RETURN_IF_ERROR(ReadPem(security.certificate_file, "the certificate", &pem.certificate));
  RETURN_IF_ERROR(ReadPem(security.key_file, "the certificate's key", &pem.key));
  RETURN_IF_ERROR(CheckIsPrivate(security.key_file));
  RETURN_IF_ERROR(CheckAuthority(security.authority_file, pem.authority));
  RETURN_IF_ERROR(
      CheckPair(security.certificate_file, pem.certificate, security.key_file, pem.key));
  return pem;
}

}  // namespace

absl::Status CheckAuthority(const std::string& path, const std::string& pem) {
  const Bytes bytes = BytesOf(pem);
  absl::Status first;
  while (const Certificate certificate = NextCertificate(bytes.get())) {
    const absl::Status status = CheckTime(path, certificate.get());
    if (status.ok()) return status;
    if (first.ok()) first = status;
  }
  return first.ok() ? NoCertificate(path) : first;
}

absl::Status CheckPair(const std::string& certificate_path, const std::string& certificate_pem,
                       const std::string& key_path, const std::string& key_pem) {
  const Certificate certificate = NextCertificate(BytesOf(certificate_pem).get());
  if (certificate == nullptr) return NoCertificate(certificate_path);
  RETURN_IF_ERROR(CheckTime(certificate_path, certificate.get()));
  const Key key(PEM_read_bio_PrivateKey(BytesOf(key_pem).get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no key in ", key_path,
                     " that can be read; one with a passphrase must be decrypted first"));
  }
  const bool fit = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (fit) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the key in ", key_path, " is not that of the certificate in ", certificate_path,
                   ": name two files that were made together"));
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsFor(
    const std::string& address, const Security& security) {
  ASSIGN_OR_RETURN(std::optional<Pem> pem, PemFor(address, security));
  if (!pem) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pem->authority;
  options.pem_key_cert_pairs.push_back({pem->key, pem->certificate});
  return grpc::SslServerCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsFor(
    const std::string& address, const Security& security) {
  ASSIGN_OR_RETURN(std::optional<Pem> pem, PemFor(address, security));
  if (!pem) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({pem->authority, pem->key, pem->certificate});
}

absl::StatusOr<std::vector<std::string>> ReadTokens(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(absl::StrCat("cannot read the tokens in ", path,
                                            ": is the file there, and may this user read it?"));
  }
  RETURN_IF_ERROR(CheckIsPrivate(path));
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) {
    line.resize(line.find_last_not_of("\r ") + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kLeastTokenBytes || !absl::c_all_of(line, absl::ascii_isgraph)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": a token must have ", kLeastTokenBytes,
                       " or more printable characters and no spaces: openssl rand -hex 32"));
    }
    tokens.push_back(line);
  }
  if (tokens.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no token: openssl rand -hex 32 makes one"));
  }
  return tokens;
}

bool IsToken(std::string_view given, const std::vector<std::string>& tokens) {
  bool found = false;
  for (const std::string& token : tokens) found |= SameBytes(given, token);
  return found;
}

namespace {

constexpr size_t kMostPathBytes = sizeof(sockaddr_un::sun_path) - 1;

// Without what names the resolver: "dns://server/name:port" -> "name:port".
absl::string_view WithoutScheme(absl::string_view address) {
  if (absl::StrContains(address, "://")) return address.substr(address.rfind('/') + 1);
  for (const absl::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&address, scheme)) break;
  }
  return address;
}

// What is wrong with it; empty if nothing is.
std::string FaultOfPath(const std::string& path) {
  if (path.empty()) return "it must have a path, as in unix:/run/joins.socket";
  if (path.size() <= kMostPathBytes) return "";
  return absl::StrCat("its path has ", path.size(), " bytes, and a socket's may have ",
                      kMostPathBytes);
}

std::string FaultOfPort(absl::string_view port, AddressUse use) {
  if (port.empty()) return "its port is missing: it must look like host:port";
  if (port.find_first_not_of("0123456789") != absl::string_view::npos) {
    return absl::StrCat("its port, \"", port, "\", is no number: it must look like host:port");
  }
  const int least = use == AddressUse::kListen ? 0 : 1;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(port, &number) || number > UINT16_MAX) {
    return absl::StrCat("its port, ", port, ", is not one of ", least, " to ", UINT16_MAX);
  }
  return number == 0 && use == AddressUse::kConnect ? "port 0 is only for listening, on any port"
                                                    : "";
}

std::string FaultOf(const std::string& address, AddressUse use) {
  if (const std::optional<std::string> path = UnixSocketPath(address)) return FaultOfPath(*path);
  const absl::string_view rest = WithoutScheme(address);
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos) {
    return "it must look like host:port, unix:/path, or dns:///name:port";
  }
  const absl::string_view host = rest.substr(0, colon);
  if (host.empty()) return "its host is missing: it must look like host:port";
  const bool in_brackets = host.front() == '[' && host.back() == ']';
  if (host.find(':') != absl::string_view::npos && !in_brackets) {
    return "an IPv6 address goes into brackets, as in [::1]:7420";
  }
  return FaultOfPort(rest.substr(colon + 1), use);
}

}  // namespace

bool IsLocal(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return true;
  absl::string_view host = WithoutScheme(address);
  host = host.substr(0, host.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  // All of 127.0.0.0/8, but not a name that begins like it.
  const std::vector<absl::string_view> parts = absl::StrSplit(host, '.');
  return parts.size() == 4 && parts[0] == "127" &&
         host.find_first_not_of("0123456789.") == absl::string_view::npos;
}

std::optional<std::string> UnixSocketPath(const std::string& address) {
  absl::string_view path(address);
  if (!absl::ConsumePrefix(&path, "unix:")) return std::nullopt;
  absl::ConsumePrefix(&path, "//");
  return std::string(path);
}

std::pair<std::string, std::string> HostAndPort(const std::string& address) {
  const absl::string_view rest = WithoutScheme(address);
  const size_t colon = rest.rfind(':');
  absl::string_view host = rest.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return {std::string(host), std::string(rest.substr(colon + 1))};
}

absl::Status CheckAddress(const std::string& address, AddressUse use) {
  const std::string fault = FaultOf(address, use);
  if (fault.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is no address: ", fault));
}

absl::StatusOr<std::vector<std::string>> SplitAddresses(const std::string& list) {
  std::vector<std::string> addresses = absl::StrSplit(list, ',');
  for (size_t i = 0; i < addresses.size(); i++) {
    RETURN_IF_ERROR(CheckAddress(addresses[i], AddressUse::kConnect));
    if (std::count(addresses.begin(), addresses.end(), addresses[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(addresses[i], " is named twice: each shard may be joined only once"));
    }
  }
  return addresses;
}

}  // namespace rocksieve::join
