#include "plugin/probe/probe_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

namespace rocksieve {
namespace {

using rocksdb::Status;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool FromHex(std::string_view text, std::string* key) {
  if (text.rfind("0x", 0) == 0) text.remove_prefix(2);
  if (text.empty() || text.size() % 2 != 0) return false;
  key->clear();
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]), low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    *key += static_cast<char>(high << 4 | low);
  }
  return true;
}

}  // namespace

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
    } else if (FromHex(line, &key)) {
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
