// SPDX-License-Identifier: Apache-2.0
// The flags by which serve and join say how they are protected.
#pragma once

#include <string>
#include <vector>

#include <rocksieve/join/peer.h>
#include <CLI/CLI.hpp>

namespace rocksieve::tools {

struct SecurityFlags {
  join::Credentials credentials;
  std::string certificates;  // directory that `rocksieve certs` made
  std::string token_file;
};

void AddSecurityFlags(CLI::App* parser, SecurityFlags* flags);

// These, and those of whoever connects.
void AddClientFlags(CLI::App* parser, SecurityFlags* flags, join::Peer* peer);

// A number from 1 to `most` that few need to give.
void AddRareNumber(CLI::App* parser, const char* name, int* value, int most,
                   const char* description);

// With the files that the directory stands for; `side` is "server" or "client", as they are called.
join::Credentials CredentialsOf(const SecurityFlags& flags, const std::string& side);

// None without --token-file.
rocksdb::Status ReadTokensOf(const SecurityFlags& flags, std::vector<std::string>* tokens);

}  // namespace rocksieve::tools
