// SPDX-License-Identifier: Apache-2.0
// Certificates and keys that cannot be used, or not together; tokens.
#include "lib/transport/credentials.h"

#include <sys/stat.h>

#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace rocksieve::join {
namespace {

using testing::HasSubstr;

constexpr long kDay = 86'400;

template <typename Write>
std::string Pem(Write write) {
  BIO* const bytes = BIO_new(BIO_s_mem());
  EXPECT_EQ(write(bytes), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bytes, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free_all(bytes);
  return pem;
}

struct Pair {
  // Valid from so many seconds from now until so many.
  explicit Pair(long from = -kDay, long until = kDay) {
    EVP_PKEY* const pkey = EVP_EC_gen("P-256");
    X509* const x509 = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(x509), from);
    X509_gmtime_adj(X509_getm_notAfter(x509), until);
    X509_set_pubkey(x509, pkey);
    EXPECT_GT(X509_sign(x509, pkey, EVP_sha256()), 0);
    certificate = Pem([&](BIO* bytes) { return PEM_write_bio_X509(bytes, x509); });
    key = Pem([&](BIO* bytes) {
      return PEM_write_bio_PrivateKey(bytes, pkey, nullptr, nullptr, 0, nullptr, nullptr);
    });
    const unsigned char word[] = "secret";
    locked_key = Pem([&](BIO* bytes) {
      return PEM_write_bio_PrivateKey(bytes, pkey, EVP_aes_128_cbc(), word, 6, nullptr, nullptr);
    });
    X509_free(x509);
    EVP_PKEY_free(pkey);
  }
  std::string certificate, key, locked_key;
};

std::string Fault(const std::string& certificate, const std::string& key) {
  return std::string(CheckPair("a.crt", certificate, "a.key", key).message());
}

TEST(CertificateCheck, APair) {
  const Pair pair, other;
  EXPECT_EQ(Fault(pair.certificate, pair.key), "");
  EXPECT_EQ(Fault(pair.certificate + other.certificate, pair.key), "");  // with its issuer
  EXPECT_THAT(Fault(pair.certificate, other.key),
              HasSubstr("the key in a.key is not that of the certificate in a.crt"));
  EXPECT_THAT(Fault("", pair.key), HasSubstr("no certificate in a.crt"));
  EXPECT_THAT(Fault(pair.key, pair.key), HasSubstr("no certificate in a.crt"));
  EXPECT_THAT(Fault(pair.certificate, pair.certificate), HasSubstr("no key in a.key"));
  EXPECT_THAT(Fault(pair.certificate, pair.locked_key), HasSubstr("passphrase"));
  EXPECT_THAT(Fault(pair.certificate, pair.key.substr(0, 60)), HasSubstr("no key in a.key"));
}

TEST(CertificateCheck, OnlyWhatIsValidNow) {
  const Pair pair, old(-2 * kDay, -kDay), future(kDay, 2 * kDay);
  EXPECT_THAT(Fault(old.certificate, old.key), HasSubstr("a.crt expired on "));
  EXPECT_THAT(Fault(future.certificate, future.key), HasSubstr("a.crt is not valid before "));
  EXPECT_TRUE(CheckAuthority("ca", pair.certificate).ok());
  // A bundle keeps old ones beside the new ones.
  EXPECT_TRUE(CheckAuthority("ca", old.certificate + pair.certificate).ok());
  EXPECT_THAT(CheckAuthority("ca", old.certificate).message(), HasSubstr("ca expired on "));
  EXPECT_THAT(CheckAuthority("ca", pair.key).message(), HasSubstr("no certificate in ca"));
}

TEST(CertificateCheck, NotWithoutTls) {
  Security security;
  security.insecure = true;
  EXPECT_TRUE(ServerCredentialsFor("127.0.0.1:1", security).ok());
  security.authority_file = "/some/ca.crt";
  for (const absl::Status& status : {ServerCredentialsFor("127.0.0.1:1", security).status(),
                                     ChannelCredentialsFor("127.0.0.1:1", security).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("leave out --insecure"));
  }
}

TEST(Token, OnlyWholeOnes) {
  const std::vector<std::string> tokens = {"0123456789abcdef", "fedcba9876543210"};
  for (const std::string& token : tokens) EXPECT_TRUE(IsToken(token, tokens));
  for (const char* bad : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeX",
                          "0123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(IsToken(bad, tokens)) << bad;
  }
}

TEST(Token, FilesAreChecked) {
  const std::string path = testing::TempDir() + "rocksieve-tokens";
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return ReadTokens(path);
  };
  const auto good = read("# of the night job\n0123456789abcdef\r\n\nfedcba9876543210");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(*good, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
  EXPECT_FALSE(read("").ok());
  EXPECT_FALSE(read("short\n").ok());
  EXPECT_FALSE(read("with spaces in it, long\n").ok());
  EXPECT_FALSE(ReadTokens(path + ".missing").ok());
  std::ofstream(path) << "0123456789abcdef\n";
  for (const mode_t mode : {0640, 0604, 0620}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status refused = ReadTokens(path).status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("chmod 600 " + path));
  }
}

}  // namespace
}  // namespace rocksieve::join
