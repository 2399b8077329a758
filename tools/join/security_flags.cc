#include "join/security_flags.h"

#include <filesystem>
#include <system_error>

#include "subcommand.h"
#include "transport/token.h"

namespace rocksieve::tools {

void AddSecurityFlags(CLI::App* parser, SecurityFlags* flags) {
  join::Identity* identity = &flags->security.identity;
  const auto file = [&](const char* name, std::string* value, const char* type,
                        const char* description) {
    return parser->add_option(name, *value, description)->type_name(type)->check(NotEmpty());
  };
  file("--certs", &flags->certificates, "DIR",
       "what rocksieve certs made, or this side's part of it");
  file("--ca", &identity->authority_file, "FILE",
       "who must have signed the other side's certificate. Default: ca.crt of --certs")
      ->group(kRareFlags);
  file("--cert", &identity->certificate_file, "FILE",
       "the certificate of this side. Default: server.crt or client.crt of --certs")
      ->group(kRareFlags);
  file("--key", &identity->key_file, "FILE", "its key. Default: beside the certificate")
      ->group(kRareFlags);
  CLI::Option* const insecure = parser->add_flag("--insecure", flags->security.insecure,
                                                 "no TLS; only for addresses of this machine");
  parser
      ->add_flag("--insecure-network", flags->security.insecure_network,
                 "with --insecure: also for other addresses, where anybody on the way reads and "
                 "changes everything")
      ->needs(insecure)
      ->group(kRareFlags);
  file("--token-file", &flags->token_file, "FILE",
       "secrets, one per line; serve takes any, join sends one");
}

join::Security SecurityOf(const SecurityFlags& flags, const std::string& side) {
  join::Security security = flags.security;
  if (!flags.certificates.empty()) {
    std::error_code unknown;
    const std::string part = flags.certificates + "/" + side;
    const bool whole = std::filesystem::is_directory(part, unknown);
    const std::string& directory = whole ? part : flags.certificates;
    const auto in_directory = [&](const std::string& name, std::string* file) {
      if (file->empty()) *file = directory + "/" + name;
    };
    in_directory("ca.crt", &security.identity.authority_file);
    in_directory(side + ".crt", &security.identity.certificate_file);
    in_directory(side + ".key", &security.identity.key_file);
  }
  return security;
}

absl::StatusOr<std::vector<std::string>> TokensOf(const SecurityFlags& flags) {
  if (flags.token_file.empty()) return std::vector<std::string>();
  return join::ReadTokens(flags.token_file);
}

}  // namespace rocksieve::tools
