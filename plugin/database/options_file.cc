// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/options_file.h"

#include <sstream>

#include <rocksdb/utilities/options_util.h>

namespace rocksieve {
namespace {

std::string Trimmed(const std::string& text) {
  const char* const kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// A comment begins at a # that has no \ before it (RocksDBOptionsParser::TrimAndRemoveComment).
std::string WithoutComment(const std::string& line) {
  for (size_t i = 0; i < line.size(); i++) {
    if (line[i] == '#' && (i == 0 || line[i - 1] != '\\')) return line.substr(0, i);
  }
  return line;
}

// RocksDB writes \ : # and line ends with a \ before them (EscapeOptionString).
std::string Unescaped(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    i++;
    result += text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : text[i];
  }
  return result;
}

}  // namespace

OptionsFile OptionsFile::Parse(const std::string& text) {
  OptionsFile file;
  std::istringstream lines(text);
  std::string line, section;
  while (std::getline(lines, line)) {
    line = Trimmed(WithoutComment(line));
    if (line.size() >= 2 && line.front() == '[' && line.back() == ']') {
      section = Unescaped(line.substr(1, line.size() - 2));
      file.sections_[section];
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    file.sections_[section][Trimmed(line.substr(0, equals))] =
        Unescaped(Trimmed(line.substr(equals + 1)));
  }
  return file;
}

rocksdb::Status OptionsFile::Load(const std::string& directory, rocksdb::Env* env,
                                  OptionsFile* file) {
  std::string name, text;
  rocksdb::Status status = rocksdb::GetLatestOptionsFileName(directory, env, &name);
  if (!status.ok()) return status;
  status = rocksdb::ReadFileToString(env, directory + "/" + name, &text);
  if (!status.ok()) return status;
  *file = Parse(text);
  file->file_name_ = name;
  return status;
}

std::string OptionsFile::Value(const std::string& section, const std::string& name) const {
  const auto found = sections_.find(section);
  if (found == sections_.end()) return "";
  const auto value = found->second.find(name);
  return value == found->second.end() ? "" : value->second;
}

std::string OptionsFile::ColumnFamilyValue(const std::string& column_family,
                                           const std::string& name) const {
  return Value("CFOptions \"" + column_family + "\"", name);
}

std::string OptionsFile::TableValue(const std::string& column_family,
                                    const std::string& name) const {
  return Value("TableOptions/BlockBasedTable \"" + column_family + "\"", name);
}

}  // namespace rocksieve
