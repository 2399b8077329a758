#include "plugin/probe/probe_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "support/printable.h"

namespace rocksieve {

using rocksdb::Status;

Status ReadProbeKeys(const std::string& path, bool hex, std::vector<std::string>* keys) {
  const std::string name = path == "-" ? "the standard input" : path;
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) {
      return Status::InvalidArgument("cannot read the missing keys in " + path + ": " +
                                     std::strerror(errno) +
                                     "\nName a file with one key per line with --probes=FILE.");
    }
  }
  std::istream& lines = path == "-" ? std::cin : file;
  std::string line, key;
  for (uint64_t number = 1; std::getline(lines, line); number++) {
    if (line.empty()) continue;
    if (!hex) {
      keys->push_back(line);
    } else if (FromHexBytes(line, &key)) {
      keys->push_back(key);
    } else {
      return Status::InvalidArgument("line " + std::to_string(number) + " of " + name +
                                     " is no key in hexadecimal digits: \"" + line + "\"");
    }
  }
  if (lines.bad()) return Status::InvalidArgument("cannot read " + name + ": it is no file?");
  if (keys->empty()) {
    return Status::InvalidArgument(name + " holds no keys: it has no line that is not empty");
  }
  return Status::OK();
}

}  // namespace rocksieve
