// Real texts, several of which are versions of each other: the licences that are on every Debian.
#pragma once

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rocksieve {

// Throws, which fails the test, if it is not there.
inline std::string Licence(const std::string& name) {
  const std::string path = "/usr/share/common-licenses/" + name;
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.empty()) {
    throw std::runtime_error(path + " is missing: it belongs to Debian's package base-files");
  }
  return text;
}

// Six of them as one stream of words, separated by white space, as they are.
inline std::vector<std::string> LicenceWords() {
  std::vector<std::string> words;
  for (const char* name : {"GPL-2", "GPL-3", "LGPL-2.1", "GFDL-1.3", "Apache-2.0", "MPL-2.0"}) {
    std::istringstream text(Licence(name));
    for (std::string word; text >> word;) words.push_back(word);
  }
  return words;
}

}  // namespace rocksieve
