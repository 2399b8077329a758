// SPDX-License-Identifier: Apache-2.0
// A client that attacks a server: plays one case, and says how the server ended each
// session, and how many there were.
// `hostile_client --list` names the cases. Exit code 0 when the case was played, whatever came of
// it.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "integration/hostile/call.h"

namespace {

using rocksieve::join::Case;

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  rocksieve::join::AddGreetingCases(&cases);
  rocksieve::join::AddRangeCases(&cases);
  rocksieve::join::AddSketchCases(&cases);
  rocksieve::join::AddFilterCases(&cases);
  rocksieve::join::AddMutatedCases(&cases);
  rocksieve::join::AddStreamCases(&cases);
  return cases;
}

int Usage() {
  std::cerr << "usage: hostile_client --list | ADDRESS CASE SECONDS SEED\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);
  const std::vector<Case> cases = AllCases();
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const Case& one : cases) std::cout << one.name << "\n";
    return 0;
  }
  if (argc != 5) return Usage();
  const rocksieve::join::Target target = {argv[1], std::strtod(argv[3], nullptr),
                                          std::strtoull(argv[4], nullptr, 10)};
  for (const Case& one : cases) {
    if (one.name != argv[2]) continue;
    one.play(target);
    std::cout << "sessions: " << rocksieve::join::Call::greeted() << std::endl;
    return 0;
  }
  return Usage();
}
