// SPDX-License-Identifier: Apache-2.0
#include "tools/join/security_flags.h"

#include <filesystem>
#include <system_error>

#include "tools/command/command.h"

namespace rocksieve::tools {

void AddSecurityFlags(CLI::App* parser, SecurityFlags* flags) {
  join::Credentials* credentials = &flags->credentials;
  AddText(parser, "--certs", &flags->certificates, "DIR",
          "what rocksieve certs made, or this side's part of it");
  AddText(parser, "--ca", &credentials->authority_file, "FILE",
          "who must have signed the other side's certificate. Default: ca.crt of --certs")
      ->group(kRareFlags);
  AddText(parser, "--cert", &credentials->certificate_file, "FILE",
          "the certificate of this side. Default: server.crt or client.crt of --certs")
      ->group(kRareFlags);
  AddText(parser, "--key", &credentials->key_file, "FILE",
          "its key. Default: beside the certificate")
      ->group(kRareFlags);
  CLI::Option* const insecure = parser->add_flag("--insecure", credentials->insecure,
                                                 "no TLS; only for addresses of this machine");
  parser
      ->add_flag("--insecure-network", credentials->insecure_network,
                 "with --insecure: also for other addresses, where anybody on the way reads and "
                 "changes everything")
      ->needs(insecure)
      ->group(kRareFlags);
  AddText(parser, "--token-file", &flags->token_file, "FILE",
          "secrets, one per line; serve takes any, join sends one");
}

void AddClientFlags(CLI::App* parser, SecurityFlags* flags, join::Peer* peer) {
  AddSecurityFlags(parser, flags);
  AddText(parser, "--server-name", &peer->server_name, "NAME",
          "that the server's certificate must have. Default: that of the address")
      ->group(kRareFlags);
}

void AddRareNumber(CLI::App* parser, const char* name, int* value, int most,
                   const char* description) {
  parser->add_option(name, *value, description)
      ->type_name("N")
      ->check(CLI::Range(1, most))
      ->group(kRareFlags);
}

join::Credentials CredentialsOf(const SecurityFlags& flags, const std::string& side) {
  join::Credentials credentials = flags.credentials;
  if (!flags.certificates.empty()) {
    std::error_code unknown;
    const std::string part = flags.certificates + "/" + side;
    const bool whole = std::filesystem::is_directory(part, unknown);
    const std::string& directory = whole ? part : flags.certificates;
    const auto in_directory = [&](const std::string& name, std::string* file) {
      if (file->empty()) *file = directory + "/" + name;
    };
    in_directory("ca.crt", &credentials.authority_file);
    in_directory(side + ".crt", &credentials.certificate_file);
    in_directory(side + ".key", &credentials.key_file);
  }
  return credentials;
}

rocksdb::Status ReadTokensOf(const SecurityFlags& flags, std::vector<std::string>* tokens) {
  if (flags.token_file.empty()) return rocksdb::Status::OK();
  return join::ReadTokens(flags.token_file, tokens);
}

}  // namespace rocksieve::tools
