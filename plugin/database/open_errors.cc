// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/open_errors.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <rocksdb/version.h>

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

Status Sentence(const std::string& text) { return Status::InvalidArgument(text); }

Status NotReadable(const std::string& path, const std::string& why) {
  return Sentence("cannot read " + path + ": " + why +
                  "\nRun it as the user who owns the database, or on a copy that you may read.");
}

bool LooksLikeTableFile(const fs::path& path) {
  return path.extension() == ".sst" || path.extension() == ".ldb";
}

Status NoDatabase(const std::string& directory) {
  std::error_code error;
  bool tables = false, manifest = false;
  std::string nested;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    tables = tables || LooksLikeTableFile(entry->path());
    manifest = manifest || entry->path().filename().string().rfind("MANIFEST-", 0) == 0;
    std::error_code ignored;
    if (fs::exists(entry->path() / "CURRENT", ignored)) nested = entry->path().string();
  }
  std::string text = "there is no RocksDB database in " + directory + ": it has no file CURRENT";
  if (tables && manifest) {
    return Sentence(text +
                    ", but table files and a MANIFEST.\nIf CURRENT was lost, write the "
                    "name of the newest MANIFEST and a newline into it, in a copy.");
  }
  if (tables) {
    return Sentence(text + ", but table files.\nSee single ones with: rocksieve inspect FILE.sst");
  }
  if (!nested.empty()) return Sentence(text + ".\nThere is one in " + nested);
  return Sentence(text + ".\nName the directory that holds CURRENT, MANIFEST-* and *.sst.");
}

}  // namespace

std::string MessageOf(const Status& status) {
  return status.getState() != nullptr ? status.getState() : status.ToString();
}

Status CheckIsDatabase(const std::string& directory) {
  std::error_code error;
  const fs::file_status kind = fs::status(directory, error);
  if (kind.type() == fs::file_type::not_found) {
    return Sentence("there is no directory " + directory +
                    "\nName the directory of a RocksDB database with --db=DIR.");
  }
  if (error) return NotReadable(directory, error.message());
  if (kind.type() != fs::file_type::directory) {
    return Sentence(directory +
                    " is no directory.\nName the directory of the database; for one "
                    "table file: rocksieve inspect " +
                    directory);
  }
  if (access(directory.c_str(), R_OK | X_OK) != 0) {
    return NotReadable(directory, std::strerror(errno));
  }
  const std::string current = directory + "/CURRENT";
  if (access(current.c_str(), F_OK) != 0) {
    return errno == ENOENT ? NoDatabase(directory) : NotReadable(current, std::strerror(errno));
  }
  if (access(current.c_str(), R_OK) != 0) return NotReadable(current, std::strerror(errno));
  return Status::OK();
}

Status ExplainOpenError(const std::string& directory, const Status& status) {
  const std::string text = status.ToString();
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  if (says("Permission denied")) return NotReadable(directory, text);
  if (says("Too many open files")) {
    return Sentence("cannot open " + directory + ": " + text +
                    "\nAllow more open files, for example: ulimit -n 4096");
  }
  // Of a table file, though RocksDB names the MANIFEST.
  if (says("unsupported format_version")) {
    return Sentence("cannot read the rows of the database in " + directory + ": " +
                    text.substr(0, text.find(" in file ")) +
                    "\nA later RocksDB wrote its table files than " +
                    rocksdb::GetRocksVersionAsString() +
                    ", which is in this program: use the rocksieve that was built with that "
                    "release, or serve the rows from inside its own process, by a library call.");
  }
  const std::string what = "cannot read the list of files of the database in " + directory + ": ";
  if (says("CURRENT") || status.IsPathNotFound() || says("No such file")) {
    return Sentence(
        what + text +
        "\nCURRENT is damaged, or encrypted by the file system (Env) of its program, or "
        "names a MANIFEST that is not there.\nIf the database is being written to, try "
        "again; else restore it, or repair a copy: ldb repair --db=COPY");
  }
  if (says("overlapping ranges") || says("out of order")) {
    return Sentence(what + text +
                    "\nEither its MANIFEST is damaged, or its comparator is not in this program, "
                    "so that files in order look out of order.\nSee single files with: rocksieve "
                    "inspect FILE.sst");
  }
  if (says("does not match existing comparator")) {
    return Sentence(what + text +
                    "\nIts OPTIONS file does not name the comparator; without it "
                    "the database cannot be opened.");
  }
  if (status.IsCorruption()) {
    return Sentence(what + text +
                    "\nThe MANIFEST is damaged, or encrypted by the file system (Env) of its "
                    "program, or of a later RocksDB than " +
                    rocksdb::GetRocksVersionAsString() +
                    ", which is in this program. Restore it, or repair a copy: ldb repair "
                    "--db=COPY");
  }
  return Sentence(what + text);
}

Status NoSuchColumnFamily(const std::string& directory, const std::string& name,
                          const std::vector<std::string>& existing) {
  std::string list;
  for (const std::string& other : existing) list += (list.empty() ? "" : ", ") + other;
  return Sentence("the database in " + directory + " has no column family \"" + name +
                  "\".\nIt has: " + list);
}

}  // namespace rocksieve
