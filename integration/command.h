// SPDX-License-Identifier: Apache-2.0
// Runs the rocksieve command that was built along with the tests.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace rocksieve {

struct CommandResult {
  int exit_code = 0;
  std::string output;  // both standard output and standard error

  nlohmann::json Json() const { return nlohmann::json::parse(output); }
};

// `arguments` go through a shell; `before`, words before the command too ("setpriv ...").
inline CommandResult RunCommand(const std::string& arguments, const std::string& before = "") {
  const std::string line = before + " '" ROCKSIEVE_COMMAND "' " + arguments + " 2>&1";
  FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + line);
  CommandResult result;
  char buffer[4096];
  for (size_t bytes; (bytes = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    result.output.append(buffer, bytes);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace rocksieve
