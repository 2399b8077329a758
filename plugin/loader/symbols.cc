// SPDX-License-Identifier: Apache-2.0
#include "plugin/loader/symbols.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

namespace rocksieve::loader {

const link_map* MapOf(void* address) {
  Dl_info info;
  void* map = nullptr;
  return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0 ? nullptr
                                                             : static_cast<link_map*>(map);
}

const char* NameOf(const link_map* map) {
  return map != nullptr && map->l_name[0] != '\0' ? map->l_name : "the program itself";
}

void* Loaded(const char* path, int more_flags) {
  return dlopen(path, RTLD_NOLOAD | RTLD_LAZY | more_flags);
}

void* HandleOf(const link_map* map) {
  if (map == nullptr) return nullptr;
  return map->l_name[0] == '\0' ? dlopen(nullptr, RTLD_LAZY) : Loaded(map->l_name);
}

void* OwnSymbol(void* object, const char* name) {
  void* const symbol = dlsym(object, name);
  link_map* map = nullptr;
  if (symbol == nullptr || dlinfo(object, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
  return MapOf(symbol) == map ? symbol : nullptr;
}

LoadedFiles::LoadedFiles() { dl_iterate_phdr(&Add, this); }

LoadedFiles::~LoadedFiles() {
  for (size_t i = 0; i < size_; ++i) free(paths_[i]);
  free(paths_);
}

int LoadedFiles::Add(dl_phdr_info* info, size_t, void* files) {
  auto* const self = static_cast<LoadedFiles*>(files);
  if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') return 0;
  void* const larger = realloc(self->paths_, (self->size_ + 1) * sizeof(char*));
  if (larger == nullptr) return 1;
  self->paths_ = static_cast<char**>(larger);
  char* const copy = strdup(info->dlpi_name);
  if (copy == nullptr) return 1;
  self->paths_[self->size_++] = copy;
  return 0;
}

}  // namespace rocksieve::loader
