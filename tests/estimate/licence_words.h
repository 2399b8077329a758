// A real text: the licences that are on every Debian, as one stream of words.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace rocksieve {

// Separated by white space, as they are. Empty if this is no Debian.
inline std::vector<std::string> LicenceWords() {
  std::vector<std::string> words;
  for (const char* name : {"GPL-2", "GPL-3", "LGPL-2.1", "GFDL-1.3", "Apache-2.0", "MPL-2.0"}) {
    std::ifstream text(std::string("/usr/share/common-licenses/") + name);
    for (std::string word; text >> word;) words.push_back(word);
  }
  return words;
}

}  // namespace rocksieve
