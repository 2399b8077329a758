// The flags by which serve and join say how they are protected.
#pragma once

#include <string>
#include <vector>

#include <absl/status/statusor.h>
#include <CLI/CLI.hpp>

#include "transport/credentials.h"

namespace rocksieve::tools {

struct SecurityFlags {
  join::Security security;
  std::string certificates;  // directory that `rocksieve certs` made
  std::string token_file;
};

void AddSecurityFlags(CLI::App* parser, SecurityFlags* flags);

// With the files that the directory stands for; `side` is "server" or "client", as they are called.
join::Security SecurityOf(const SecurityFlags& flags, const std::string& side);

// None without --token-file.
absl::StatusOr<std::vector<std::string>> TokensOf(const SecurityFlags& flags);

}  // namespace rocksieve::tools
