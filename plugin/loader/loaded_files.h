// SPDX-License-Identifier: Apache-2.0
// The files of machine code in this process, the RocksDBs among them, and which releases these are.
// Of libc alone. Everything here may be called by several threads at once.
#pragma once

#include <link.h>
#include <stddef.h>

namespace rocksieve::loader {

// The file, or the program, that has the code or data at the address. Null if none has.
const link_map* MapOf(void* address);

// Its path; "the program itself" of that.
const char* NameOf(const link_map* map);

// A handle of dlopen; null for null.
void* HandleOf(const link_map* map);

// The same of a file by its path, if the process has it; null if it does not. `more_flags` of
// dlopen.
void* Loaded(const char* path, int more_flags = 0);

// The symbol `name` that the object (a handle of dlopen) defines itself; null if it does not.
void* OwnSymbol(void* object, const char* name);

// Opens a build for the RocksDB in the file of that path: a copy of the build that needs that file,
// if it has a place for the path; else the build itself, for which the RocksDB is made visible to
// all. All symbols at once: what is missing is an error here, and no crash later. Null, and
// dlerror() why.
void* OpenBuild(const char* path, const char* rocksdb);

// The paths of the files, apart from the program. Copied, since nothing may be loaded while they
// are being listed.
class LoadedFiles {
 public:
  LoadedFiles();
  ~LoadedFiles();
  LoadedFiles(const LoadedFiles&) = delete;
  LoadedFiles& operator=(const LoadedFiles&) = delete;

  size_t size() const { return size_; }
  const char* path(size_t i) const { return paths_[i]; }

 private:
  static int Add(dl_phdr_info* info, size_t, void* files);

  char** paths_ = nullptr;
  size_t size_ = 0;
};

// std::string rocksdb::GetRocksVersionAsString(bool), with libstdc++'s strings of today, and with
// those from before GCC 5.
inline constexpr char kVersion[] = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
inline constexpr char kVersionOfOldStrings[] = "_ZN7rocksdb23GetRocksVersionAsStringEb";
// Where builds register; releases before it can load no plugin.
inline constexpr char kRegistry[] = "_ZN7rocksdb14ObjectRegistry11NewInstanceEv";

// "9.10.0", and its parts.
struct Release {
  char text[32] = "";
  char series[16] = "";  // "9.10"; empty if the text is no release
};

// What kVersion returns, or kVersionOfOldStrings.
Release ReleaseOf(void* version_function, bool old_strings);

// Why a release is refused that shares its MAJOR.MINOR with one that is served; null if it is not.
const char* WhyRefused(const Release& release);

}  // namespace rocksieve::loader
