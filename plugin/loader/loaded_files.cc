// SPDX-License-Identifier: Apache-2.0
#include "plugin/loader/loaded_files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

namespace {

// A std::string as libstdc++ has it, without its runtime. Functions return one in memory that the
// caller gives, as they do any structure of this size.
struct CppString {
  const char* data;
  size_t size;
  char local[16];  // the text itself, if it fits: where `data` points, unless we were copied
};

// What a build has for the path of RocksDB's file (plugin/CMakeLists.txt).
struct PlaceOfPath {
  char text[sizeof("rocksdb") - 1 + 1024];
  PlaceOfPath() {
    memset(text, '/', sizeof(text));
    memcpy(text, "rocksdb", sizeof("rocksdb") - 1);
  }
};

}  // namespace

void* OpenBuild(const char* path, const char* rocksdb) {
  const PlaceOfPath place;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  void* bytes = MAP_FAILED;
  if (file >= 0 && fstat(file, &status) == 0) {
    bytes = mmap(nullptr, status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  }
  if (file >= 0) close(file);
  void* const found =
      bytes == MAP_FAILED || strlen(rocksdb) >= sizeof(place.text)
          ? nullptr
          : memmem(bytes, status.st_size, place.text, sizeof(place.text));
  char copy_path[64] = "";
  if (found != nullptr) {
    strcpy(static_cast<char*>(found), rocksdb);
    const char* const name = strrchr(path, '/');
    // It stays open: two libraries of one name would be the same to the loader.
    const int copy = memfd_create(name == nullptr ? path : name + 1, MFD_CLOEXEC);
    if (copy >= 0 && write(copy, bytes, status.st_size) == status.st_size) {
      snprintf(copy_path, sizeof(copy_path), "/proc/self/fd/%d", copy);
    }
  }
  if (bytes != MAP_FAILED) munmap(bytes, status.st_size);
  if (copy_path[0] != '\0') return dlopen(copy_path, RTLD_NOW | RTLD_LOCAL);
  // The build has no other way to the symbols of a RocksDB that is private.
  if (rocksdb[0] != '\0') Loaded(rocksdb, RTLD_GLOBAL);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

Release ReleaseOf(void* version_function, bool old_strings) {
  Release release;
  const CppString text =
      reinterpret_cast<CppString (*)(bool)>(version_function)(/*with_patch=*/true);
  if (old_strings) {  // a pointer to the text, and no more; nobody frees it
    snprintf(release.text, sizeof(release.text), "%s", text.data);
  } else {
    const char* const data = text.size < sizeof(text.local) ? text.local : text.data;
    snprintf(release.text, sizeof(release.text), "%.*s", static_cast<int>(text.size & 0xff), data);
  }
  constexpr char kDigits[] = "0123456789";
  const size_t major = strspn(release.text, kDigits);
  if (major == 0 || major > 4 || release.text[major] != '.') return release;
  const size_t minor = strspn(release.text + major + 1, kDigits), end = major + 1 + minor;
  if (minor == 0 || minor > 4 || (release.text[end] != '.' && release.text[end] != '\0')) {
    return release;
  }
  memcpy(release.series, release.text, end);
  return release;
}

const char* WhyRefused(const Release& release) {
  if (strcmp(release.text, "7.0.1") == 0 || strcmp(release.text, "7.0.2") == 0) {
    return "which hands plugins another interface than 7.0.3";
  }
  if (strcmp(release.text, "10.1.0") == 0) {
    return "the number that the withdrawn 9.11.1 bears by mistake (9.11.2 replaces it)";
  }
  return nullptr;
}

}  // namespace rocksieve::loader
