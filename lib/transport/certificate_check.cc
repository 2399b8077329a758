#include "lib/transport/certificate_check.h"

#include <ctime>
#include <memory>
#include <utility>

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace rocksieve::join {
namespace {

template <typename T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* object) const { kFree(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Bytes = std::unique_ptr<BIO, Freer<BIO, BIO_free_all>>;

constexpr char kRemedy[] = "; rocksieve certs makes certificates for trying things out";

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
  const absl::Status status = CheckTime(certificate_path, certificate.get());
  if (!status.ok()) return status;
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

}  // namespace rocksieve::join
