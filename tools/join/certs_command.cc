// SPDX-License-Identifier: Apache-2.0
// Certificates for trying things out: an authority of our own, and what it signs.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/cleanup/cleanup.h>
#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "support/return_if_error.h"
#include "tools/command/command.h"

namespace rocksieve::tools {
namespace {

namespace fs = std::filesystem;

struct CertificateOptions {
  std::string directory;           // made if it is not there
  std::vector<std::string> names;  // of the server: host names and IP addresses
  int days = 30;
};

template <typename T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* object) const { kFree(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Number = std::unique_ptr<BIGNUM, Freer<BIGNUM, BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION, X509_EXTENSION_free>>;

struct Pair {
  Key key;
  Certificate certificate;
};

absl::Status OpenSslError(const char* doing) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  return absl::InternalError(absl::StrCat("OpenSSL cannot ", doing, ": ", text));
}

bool AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Positive, and always of 16 bytes.
bool SetSerialNumber(X509* certificate) {
  const Number number(BN_new());
  return BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

using Extensions = std::vector<std::pair<int, std::string>>;

// Signed by `issuer`, or by itself if that is null.
absl::Status MakePair(const std::string& name, int days, const Extensions& extensions,
                      const Pair* issuer, Pair* pair) {
  pair->key.reset(EVP_EC_gen("P-256"));
  pair->certificate.reset(X509_new());
  if (pair->key == nullptr || pair->certificate == nullptr) return OpenSslError("make a key");
  X509* const certificate = pair->certificate.get();
  if (issuer == nullptr) issuer = pair;
  X509* const signer = issuer->certificate.get();
  X509_NAME* const subject = X509_get_subject_name(certificate);
  bool ok = X509_set_version(certificate, X509_VERSION_3) == 1 && SetSerialNumber(certificate) &&
            X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                       0) == 1 &&
            X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1 &&
            // An hour back, for clocks that are late.
            X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != nullptr &&
            X509_time_adj_ex(X509_getm_notAfter(certificate), days, 0, nullptr) != nullptr &&
            X509_set_pubkey(certificate, pair->key.get()) == 1;
  for (const auto& [kind, value] : extensions) {
    ok = ok && AddExtension(certificate, signer, kind, value);
  }
  ok = ok && X509_sign(certificate, issuer->key.get(), EVP_sha256()) > 0;
  return ok ? absl::OkStatus() : OpenSslError("make a certificate");
}

// Files and directories that were made.
using Made = std::vector<std::string>;

absl::Status WritePem(const std::string& path, mode_t mode,
                      absl::FunctionRef<int(std::FILE*)> write, Made* made) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot create ", path, errno == EEXIST ? " over an old one" : ""));
  }
  made->push_back(path);
  std::FILE* const file = fdopen(descriptor, "wb");
  const bool written = write(file) == 1;
  if (std::fclose(file) != 0 || !written) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

absl::Status WriteCertificate(const std::string& path, const Pair& pair, Made* made) {
  const auto write = [&](std::FILE* file) { return PEM_write_X509(file, pair.certificate.get()); };
  return WritePem(path + ".crt", 0644, write, made);
}

absl::Status WritePair(const std::string& path, const Pair& pair, Made* made) {
  const auto write = [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  };
  const absl::Status status = WritePem(path + ".key", 0600, write, made);
  return status.ok() ? WriteCertificate(path, pair, made) : status;
}

// If it is not there. Permissions that are unknown are those of the user's choice, by his umask.
absl::Status MakeDirectory(const std::string& path, fs::perms permissions, Made* made) {
  std::error_code error;
  if (fs::create_directories(path, error)) made->push_back(path);
  if (!error && permissions != fs::perms::unknown) fs::permissions(path, permissions, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot make the directory ", path, ": ", error.message()));
}

bool IsIpAddress(const std::string& name) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), address) == 1 ||
         inet_pton(AF_INET6, name.c_str(), address) == 1;
}

// As subjectAltName has it.
absl::StatusOr<std::string> AlternativeNames(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const bool is_ip = IsIpAddress(name);
    if (!is_ip && (name.empty() || name.find_first_of(",: \n") != std::string::npos)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is no host name and no IP address"));
    }
    parts.push_back((is_ip ? "IP:" : "DNS:") + name);
  }
  return absl::StrJoin(parts, ",");
}

// DIR/server and DIR/client have what a node needs, ca.crt and its own certificate and key: ECDSA
// keys on P-256, readable by their owner only. DIR/authority, which only its owner may enter, has
// ca.key, which signs: whoever has it is a node. Overwrites nothing.
absl::Status MakeCertificates(const CertificateOptions& options) {
  ASSIGN_OR_RETURN(const std::string names, AlternativeNames(options.names));
  const auto leaf = [](const char* use, const std::string& alternative_names) {
    return Extensions{{NID_basic_constraints, "critical,CA:FALSE"},
                      {NID_key_usage, "critical,digitalSignature"},
                      {NID_ext_key_usage, use},
                      {NID_subject_alt_name, alternative_names},
                      {NID_authority_key_identifier, "keyid"}};
  };
  struct Node {
    std::string name;  // of its directory
    Extensions extensions;
    Pair pair = {};
  };
  Node nodes[] = {{"server", leaf("serverAuth", names)},
                  {"client", leaf("clientAuth", "DNS:rocksieve-client")}};

  Made made;  // and goes again, unless all of it came to be
  absl::Cleanup remove = [&made] {
    std::error_code ignored;
    for (size_t i = made.size(); i-- > 0;) fs::remove(made[i], ignored);
  };
  const std::string& directory = options.directory;
  RETURN_IF_ERROR(MakeDirectory(directory, fs::perms::unknown, &made));
  RETURN_IF_ERROR(MakeDirectory(directory + "/authority", fs::perms::owner_all, &made));
  for (const Node& node : nodes) {
    RETURN_IF_ERROR(MakeDirectory(directory + "/" + node.name, fs::perms::unknown, &made));
  }
  Pair authority;
  RETURN_IF_ERROR(MakePair("rocksieve test authority", options.days,
                           {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                            {NID_key_usage, "critical,keyCertSign,cRLSign"},
                            {NID_subject_key_identifier, "hash"}},
                           nullptr, &authority));
  for (Node& node : nodes) {
    RETURN_IF_ERROR(
        MakePair("rocksieve " + node.name, options.days, node.extensions, &authority, &node.pair));
  }
  RETURN_IF_ERROR(WritePair(directory + "/authority/ca", authority, &made));
  for (const Node& node : nodes) {
    const std::string part = directory + "/" + node.name + "/";
    RETURN_IF_ERROR(WriteCertificate(part + "ca", authority, &made));
    RETURN_IF_ERROR(WritePair(part + node.name, node.pair, &made));
  }
  std::move(remove).Cancel();
  return absl::OkStatus();
}

int Run(CertificateOptions options) {
  if (options.names.empty()) options.names = {"localhost", "127.0.0.1", "::1"};
  const absl::Status status = MakeCertificates(options);
  if (!status.ok()) {
    std::cerr << "rocksieve certs: " << status.message() << "\n";
    return kCannotRun;
  }
  std::cout << options.directory << "/server and " << options.directory
            << "/client are for the two sides, for " << options.days
            << " days: copy each to where it is needed.\n"
            << options.directory
            << "/authority/ca.key signs more of them: keep it here, or delete it.\n";
  return kDone;
}

}  // namespace

Command AddCertsCommand(Parser* parent) {
  const auto options = std::make_shared<CertificateOptions>();
  Parser* parser = AddParser(
      parent,
      {.name = "certs",
       .summary = "certificates for serve and join, for trying things out",
       .description = "Makes an authority and a certificate and key for each of server and "
                      "client, which --certs of both takes. Overwrites nothing.",
       .exit_codes = "0 done; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve certs --dir=/etc/rocksieve/certs --name=db1.example.org"});
  AddText(parser, "--dir", &options->directory, "DIR",
          "where the files go; made if it is not there")
      ->required();
  AddText(parser, "--name", &options->names, "NAME",
          "name or IP address of the server; may be repeated. Default: localhost, 127.0.0.1 and "
          "::1");
  parser->add_option("--days", options->days, "days for which they are valid. Default: 30")
      ->type_name("N")
      ->check(CLI::Range(1, 3650));
  return {parser, [options] { return Run(*options); }};
}

}  // namespace rocksieve::tools
