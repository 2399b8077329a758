// SPDX-License-Identifier: Apache-2.0
#include "bench/program.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace rocksieve::bench {

bool Wants(const std::vector<std::string>& only, const std::string& name) {
  return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

// Written beside and renamed, so that whoever looks finds all or nothing.
void WriteFile(const std::string& path, const std::string& text) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished);
  file << text;
  file.close();
  if (!file || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::remove(unfinished.c_str());
    throw std::runtime_error("cannot write " + path + "; choose another path");
  }
}

int RunProgram(const char* name, int (*main)(int, char**), int argc, char** argv) {
  try {
    return main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return 2;
  }
}

}  // namespace rocksieve::bench
