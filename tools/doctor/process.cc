// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/checks.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace rocksieve::tools {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

constexpr char kDeleted[] = " (deleted)";
// In every RocksDB, stripped or not (util/build_version.cc), and in nothing that only uses one.
constexpr std::string_view kRocksDbMarks[] = {"rocksdb_build_git_sha:", "rocksdb_build_date:"};
// What the plugin asks for the release: rocksdb::GetRocksVersionAsString(bool), with the
// std::string of today, and with that from before GCC 5, which RocksJava has up to 10.10.
constexpr std::string_view kAskedByPlugins = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
constexpr std::string_view kAskedByOldPlugins = "_ZN7rocksdb23GetRocksVersionAsStringEb";
constexpr std::string_view kRocksDbSoname = "librocksdb.so.";
constexpr std::string_view kPluginBuild =
    "librocksieve-";  // the rest is what librocksieve.so loads

// Files below /proc do not tell their size.
std::string ReadAll(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

std::string BaseName(const std::string& path) { return fs::path(path).filename().string(); }

bool IsSharedRocksDb(const std::string& path) {
  return BaseName(path).rfind("librocksdb.so", 0) == 0;
}

bool IsPlugin(const std::string& path) {
  const std::string name = BaseName(path);
  return name.rfind("librocksieve.so", 0) == 0 || name.rfind(kPluginBuild, 0) == 0;
}

// "librocksdb.so.7.8.3", with what comes before the version -> "7.8"; "" for "librocksdb.so.7"
std::string SeriesIn(std::string_view text, std::string_view before) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return "";
  std::string_view version = text.substr(at + before.size());
  version = version.substr(0, version.find_first_not_of("0123456789."));
  const size_t dot = version.find('.');
  if (dot == version.npos) return "";
  return std::string(version.substr(0, version.find('.', dot + 1)));
}

// Of RocksDB's marks, a date follows, and a revision where it is known; what only looks for them,
// as this program does, has them as they are.
bool HasRocksDbInside(std::string_view file) {
  for (const std::string_view mark : kRocksDbMarks) {
    size_t at = 0;
    while ((at = file.find(mark, at)) != file.npos) {
      at += mark.size();
      if (at < file.size() && file[at] != '\0') return true;
    }
  }
  return false;
}

// A record of an ELF file; zeros where the file ends before it.
template <typename Record>
Record RecordAt(std::string_view file, uint64_t offset) {
  Record record = {};
  if (offset <= file.size() && file.size() - offset >= sizeof(record)) {
    std::memcpy(&record, file.data() + offset, sizeof(record));
  }
  return record;
}

// Whether programs can be linked to the function by this (mangled) name, which is in .dynsym then
// (System V ABI, generic: "Symbol Table"). Not found in what is no ELF file of 64 bits.
bool Exports(std::string_view file, std::string_view function) {
  const auto header = RecordAt<Elf64_Ehdr>(file, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    return false;
  }
  const auto section = [&](uint64_t index) {
    return RecordAt<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (uint64_t i = 0; i < header.e_shnum; i++) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_DYNSYM) continue;
    const uint64_t names = section(symbols.sh_link).sh_offset;
    const uint64_t end = symbols.sh_offset + std::min<uint64_t>(symbols.sh_size, file.size());
    for (uint64_t at = symbols.sh_offset; at < end; at += sizeof(Elf64_Sym)) {
      const auto symbol = RecordAt<Elf64_Sym>(file, at);
      const uint64_t name = names + symbol.st_name;
      if (symbol.st_shndx != SHN_UNDEF && name < file.size() &&
          file.substr(name, function.size()) == function &&
          RecordAt<char>(file, name + function.size()) == 0) {
        return true;
      }
    }
    break;  // there is one such section
  }
  return false;
}

struct Mapping {
  LoadedFile file;
  std::string range;  // "55d0-55ff": its name in /proc/N/map_files
};

// Files of which some part is mapped as code, by path.
std::map<std::string, Mapping> CodeMappings(const fs::path& process) {
  std::map<std::string, Mapping> mappings;
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, inode, path;
    fields >> range >> rights >> offset >> device >> inode;
    std::getline(fields >> std::ws, path);
    if (path.empty() || path[0] != '/' || rights.find('x') == std::string::npos) continue;
    Mapping mapping;
    mapping.file.path = path;
    mapping.range = range;
    if (path.size() > sizeof(kDeleted) && path.ends_with(kDeleted)) {
      mapping.file.path.resize(path.size() - (sizeof(kDeleted) - 1));
      mapping.file.replaced = true;
    }
    // A build for a RocksDB that is not installed runs from a copy in memory.
    constexpr std::string_view kInMemory = "/memfd:";
    if (mapping.file.path.starts_with(kInMemory)) {
      mapping.file.path.erase(1, kInMemory.size() - 1);
      mapping.file.replaced = false;
    }
    mappings.emplace(path, mapping);
  }
  return mappings;
}

// The bytes that the process has mapped, even if the file was replaced, if we may see them; else
// those that its own root directory has now.
std::string Contents(const fs::path& process, const Mapping& mapping) {
  std::string bytes = ReadAll(process / "map_files" / mapping.range);
  if (bytes.empty()) bytes = ReadAll((process / "root").string() + mapping.file.path);
  return bytes;
}

std::string Preload(const fs::path& process) {
  std::istringstream variables(ReadAll(process / "environ"));
  for (std::string variable; std::getline(variables, variable, '\0');) {
    if (variable.rfind("LD_PRELOAD=", 0) == 0) return variable.substr(std::strlen("LD_PRELOAD="));
  }
  return "";
}

Status HasOpen(const fs::path& process, const std::string& directory) {
  std::error_code error;
  const std::string below = fs::canonical(directory, error).string() + "/";
  bool open = false;
  fs::directory_iterator entry(process / "fd", error);
  const std::string who = "process " + process.filename().string();
  if (error) {
    return Status::InvalidArgument("may not look into " + who + ": " + error.message() +
                                   "\nRun it as the user who owns the process, or as root.");
  }
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::string target = fs::read_symlink(entry->path(), ignored).string();
    open = open || target.rfind(below, 0) == 0;
  }
  if (open) return Status::OK();
  const int holder = LockHolder(directory);
  return Status::InvalidArgument(
      who + " has no file of " + directory + " open" +
      (holder == 0 ? ", and no process that can be seen from here has it open for writing."
                   : ".\nThe process that has is " + std::to_string(holder) + "."));
}

}  // namespace

const LoadedFile* ProcessFacts::FindCopy(bool shared) const {
  const auto found = std::find_if(rocksdb_copies.begin(), rocksdb_copies.end(),
                                  [&](auto& copy) { return IsSharedRocksDb(copy.path) == shared; });
  return found == rocksdb_copies.end() ? nullptr : &*found;
}

std::string ProcessFacts::shared_rocksdb_series() const {
  return shared_rocksdb() == nullptr ? "" : SeriesIn(shared_rocksdb()->path, kRocksDbSoname);
}

Status ReadProcess(int pid, const std::string& database_directory, ProcessFacts* facts) {
  const fs::path process = fs::path("/proc") / std::to_string(pid);
  std::error_code error;
  if (!fs::exists(process, error)) {
    return Status::InvalidArgument("there is no process " + std::to_string(pid));
  }
  const Status open = HasOpen(process, database_directory);
  if (!open.ok()) return open;
  *facts = {};
  facts->pid = pid;
  facts->program = fs::read_symlink(process / "exe", error).string();
  facts->preload = Preload(process);
  for (const auto& [key, mapping] : CodeMappings(process)) {
    const std::string& path = mapping.file.path;
    if (BaseName(path).find("jemalloc") != std::string::npos) facts->jemalloc = true;
    if (IsSharedRocksDb(path)) {
      facts->rocksdb_copies.push_back(mapping.file);
    } else if (IsPlugin(path)) {
      facts->plugins.push_back(mapping.file);
      const std::string series = SeriesIn(BaseName(path), kPluginBuild);
      if (!series.empty()) facts->plugin_built_for = series;
    } else if (const std::string bytes = Contents(process, mapping); HasRocksDbInside(bytes)) {
      facts->rocksdb_copies.push_back(mapping.file);
      facts->rocksdb_copies.back().exports_rocksdb =
          Exports(bytes, kAskedByPlugins) || Exports(bytes, kAskedByOldPlugins);
      // Linked into the program, or not as a file of its own.
      if (bytes.find("jemalloc") != std::string::npos) facts->jemalloc = true;
    }
  }
  return Status::OK();
}

int LockHolder(const std::string& database_directory) {
  const int lock = open((database_directory + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (lock < 0) return 0;
  struct flock question = {};
  question.l_type = F_WRLCK;
  question.l_whence = SEEK_SET;
  const bool answered = fcntl(lock, F_GETLK, &question) == 0;
  close(lock);
  return answered && question.l_type != F_UNLCK ? question.l_pid : 0;
}

}  // namespace rocksieve::tools
