// SPDX-License-Identifier: Apache-2.0
// The files of machine code in this process, and the symbols that they define.
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

}  // namespace rocksieve::loader
