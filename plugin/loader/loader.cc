// SPDX-License-Identifier: Apache-2.0
#include "plugin/loader/loader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

#include <rocksieve/c.h>

namespace rocksieve::loader {

namespace {

constexpr char kBuildMark[] = "rocksieve_built_for";
// "librocksieve-9.10.so.1": by the SONAME, so that no loader takes the build of another interface.
constexpr char kBuildPrefix[] = "librocksieve-";
constexpr char kBuildSuffix[] = ROCKSIEVE_BUILD_SUFFIX;

std::atomic<void*> build{nullptr};  // the handle of dlopen
std::atomic<bool> said{false};
// RocksDB's own static objects call us before that.
std::atomic<bool> started{false};
// Whether a RocksDB that only its user sees may be served: the program has called us by name.
std::atomic<bool> serves_private{false};
// The file whose RocksDB the program has called us for, and which may come later; null for any.
std::atomic<const char*> asked{nullptr};
// Somebody looks for the RocksDB. Nobody else waits for that, but for those who ask for it by name:
// a thread that loads a RocksDB has the loader's lock, for which the first may be waiting.
std::atomic<bool> loading{false};
std::atomic<const link_map*> served{nullptr};  // the file of the RocksDB that the build is for
// What a program wants instead of RocksDB's own filters; empty if nothing.
char instead_of[256] = "";

// Of the RocksDBs that libraries do not see, since a program opened them for itself, the one wanted
// or the only one: its kVersion. Null if there is none, or, and why, too many.
void* PrivateRocksDb(const char* wanted, Sentence* why) {
  Sentence found;
  size_t copies = 0;
  void* version_function = nullptr;
  const LoadedFiles files;
  for (size_t i = 0; i < files.size(); ++i) {
    void* const handle = Loaded(files.path(i));
    if (handle == nullptr) continue;
    if (strstr(files.path(i), "/rocksieve.libs/") != nullptr) continue;  // that of joins in a wheel
    void* const function = OwnSymbol(handle, kVersion);
    if (function != nullptr && OwnSymbol(handle, kRegistry) != nullptr &&
        (wanted == nullptr || Loaded(wanted) == handle)) {
      found.Append("%s%s", ++copies == 1 ? "" : ", ", files.path(i));
      version_function = function;
    }
    dlclose(handle);
  }
  if (copies <= 1) return version_function;
  why->Format(
      "rocksieve: there are %zu RocksDBs in this process: %s. rocksieve is used by none of "
      "them; rocksieve_load(PATH) says which it shall serve.",
      copies, found.text);
  return nullptr;
}

// The build that is in the process already, linked or loaded by another copy of this library.
void* BuildInProcess() {
  if (void* const mark = dlsym(RTLD_DEFAULT, kBuildMark)) return HandleOf(MapOf(mark));
  const LoadedFiles files;
  for (size_t i = 0; i < files.size(); ++i) {
    if (strstr(files.path(i), kBuildPrefix) == nullptr) continue;
    void* const handle = Loaded(files.path(i));
    if (handle != nullptr && OwnSymbol(handle, kBuildMark) != nullptr) return handle;
  }
  return nullptr;
}

bool FindOwnDirectory(bool follow_links, char directory[PATH_MAX]) {
  static const char inside = 0;
  const link_map* const self = MapOf(const_cast<char*>(&inside));
  char path[PATH_MAX];
  if (self == nullptr || strlen(self->l_name) >= sizeof(path)) return false;
  strcpy(path, self->l_name);
  if (follow_links && realpath(self->l_name, path) == nullptr) return false;
  char* const slash = strrchr(path, '/');
  if (slash == nullptr) return false;
  slash[1] = '\0';
  return realpath(path, directory) != nullptr;
}

// Where this library is: as it was named, or with all links followed. Null if nobody knows. Found
// when it is loaded: a relative name means another place when the program goes elsewhere.
const char* OwnDirectory(bool follow_links) {
  static char directories[2][PATH_MAX];
  static bool looked = false;
  for (int i = 0; i < 2 && !looked; i++) {
    if (!FindOwnDirectory(i != 0, directories[i])) directories[i][0] = '\0';
  }
  looked = true;
  return directories[follow_links][0] == '\0' ? nullptr : directories[follow_links];
}

// The builds that are in the directory: "7.8, 9.10".
void ListBuilds(const char* directory, Sentence* list) {
  DIR* const entries = opendir(directory);
  while (const dirent* const entry = entries == nullptr ? nullptr : readdir(entries)) {
    const char* const series = entry->d_name + strlen(kBuildPrefix);
    if (strncmp(entry->d_name, kBuildPrefix, strlen(kBuildPrefix)) != 0) continue;
    const size_t length = strspn(series, "0123456789.");
    if (length < 2 || strcmp(series + length - 1, kBuildSuffix) != 0) continue;
    list->Append("%s%.*s", list->text[0] == '\0' ? "" : ", ", static_cast<int>(length - 1), series);
  }
  if (entries != nullptr) closedir(entries);
}

// Null, and why, if there is no build for the release, or it cannot be loaded.
void* LoadBuild(const Release& release, void* version_function, Sentence* why) {
  const link_map* const map = MapOf(version_function);
  const char* const rocksdb = NameOf(map);
  char path[PATH_MAX + 64];
  for (const bool follow_links : {false, true}) {
    const char* const directory = OwnDirectory(follow_links);
    if (directory == nullptr) continue;
    snprintf(path, sizeof(path), "%s/%s%s%s", directory, kBuildPrefix, release.series,
             kBuildSuffix);
    if (access(path, R_OK) != 0) continue;
    void* const handle = OpenBuild(path, map == nullptr ? "" : map->l_name);
    if (handle == nullptr) {
      why->Format(
          "rocksieve: the RocksDB in this process is %s (%s), but its build of rocksieve cannot "
          "be loaded, and the program runs without: %s",
          release.text, rocksdb, dlerror());
    }
    return handle;
  }
  Sentence builds;
  const char* directory = OwnDirectory(/*follow_links=*/true);
  if (directory == nullptr) directory = "?";
  ListBuilds(directory, &builds);
  why->Format(
      "rocksieve: the RocksDB in this process is %s (%s), and the builds of rocksieve in %s are "
      "for %s. The program runs without rocksieve; build rocksieve against RocksDB %s.",
      release.text, rocksdb, directory, builds.text[0] == '\0' ? "no release" : builds.text,
      release.series);
  return nullptr;
}

// Whether the RocksDB that is wanted, null for any, is the one in that file, which is served, or
// which every library sees.
bool IsWanted(const char* wanted, const link_map* one, Sentence* why) {
  if (wanted == nullptr) return true;
  void* const handle = Loaded(wanted);
  void* const function = handle == nullptr ? nullptr : OwnSymbol(handle, kVersion);
  if (function != nullptr && MapOf(function) == one) return true;
  why->Format(
      "rocksieve: it serves the RocksDB in %s, or every library sees that one, and it can serve no "
      "other; %s is not it.",
      NameOf(one), wanted);
  return false;
}

// What must hold before a build may be loaded beside the RocksDB that every library sees.
bool MayServe(const char* wanted, void* version_function, const Release& release, Sentence* why) {
  const char* const path = NameOf(MapOf(version_function));
  if (dlsym(RTLD_DEFAULT, kVersion) != nullptr &&
      !IsWanted(wanted, MapOf(version_function), why)) {
    return false;
  }
  if (release.series[0] == '\0') {
    why->Format(
        "rocksieve: the RocksDB in this process (%s) says that it is release \"%s\", and "
        "there is no such. The program runs without rocksieve.",
        path, release.text);
    return false;
  }
  if (const char* const refused = WhyRefused(release)) {
    why->Format(
        "rocksieve: the RocksDB in this process is %s (%s), %s. No rocksieve fits it, and "
        "the program runs without.",
        release.text, path, refused);
    return false;
  }
  void* const registry = dlsym(RTLD_DEFAULT, kRegistry);
  if (registry == nullptr) return true;  // the loader will say what is missing
  const link_map* const other = MapOf(registry);
  if (other == MapOf(version_function)) return true;
  void* const handle = HandleOf(other);
  void* const its_function = handle == nullptr ? nullptr : OwnSymbol(handle, kVersion);
  const Release its =
      its_function == nullptr ? Release() : ReleaseOf(its_function, /*old_strings=*/false);
  if (handle != nullptr) dlclose(handle);
  if (strcmp(its.series, release.series) == 0) return true;
  why->Format(
      "rocksieve: there are two RocksDBs in this process, %s (%s) and %s (%s), whose symbols "
      "are mixed. The program runs without rocksieve.",
      release.text, path, its.text, NameOf(other));
  return false;
}

// Whether a RocksDB is part of a library that was opened for its user alone: such as that have one
// of their own. Shown to all, it would be used by the next of them, which may have another release.
// The shared librocksdb is one for all.
bool IsPrivateCopy(const char* path) {
  if (path == nullptr || dlsym(RTLD_DEFAULT, kVersion) != nullptr) return false;
  void* const handle = Loaded(path);
  if (handle == nullptr || OwnSymbol(handle, kVersion) == nullptr) return false;
  const char* const slash = strrchr(path, '/');
  constexpr char kShared[] = "librocksdb.so";
  return strncmp(slash == nullptr ? path : slash + 1, kShared, strlen(kShared)) != 0;
}

// The file whose RocksDB is the one to serve; null for any. It may not be in the process yet.
const char* Asked() {
  const char* const file = asked.load();
  void* const handle = file == nullptr ? nullptr : Loaded(file);
  const bool has_none = handle != nullptr && OwnSymbol(handle, kVersion) == nullptr;
  return has_none ? nullptr : file;
}

void DescribeOldRocksDb(const char* wanted, Sentence* why) {
  void* const where = wanted == nullptr ? RTLD_DEFAULT : Loaded(wanted);
  if (void* const old = dlsym(where, kVersionOfOldStrings)) {
    why->Format(
        "rocksieve: the RocksDB in this process (%s) was compiled with the std::string from "
        "before GCC 5 (_GLIBCXX_USE_CXX11_ABI=0), for which there are builds of rocksieve in its "
        "package for Java alone. The program runs without rocksieve.",
        NameOf(MapOf(old)));
  } else if (void* const open = dlsym(where, "rocksdb_open")) {
    why->Format(
        "rocksieve: the RocksDB in this process (%s) does not tell its release, as those "
        "before 6.15. They can load no filter policies, and the program runs without "
        "rocksieve.",
        NameOf(MapOf(open)));
  }
}

// Load(), by one thread at a time: by whoever has set `loading`.
bool LoadOnce(const char* rocksdb, Sentence* why) {
  if (build.load() != nullptr) return IsWanted(rocksdb, served.load(), why);
  void* loaded = BuildInProcess();
  void* version_function = dlsym(RTLD_DEFAULT, kVersion);
  if (loaded == nullptr) {
    if (version_function == nullptr) version_function = PrivateRocksDb(rocksdb, why);
    if (version_function == nullptr) {
      if (why->text[0] == '\0') DescribeOldRocksDb(rocksdb, why);
      return false;
    }
    const Release release = ReleaseOf(version_function, /*old_strings=*/false);
    if (!MayServe(rocksdb, version_function, release, why)) return false;
    loaded = LoadBuild(release, version_function, why);
    if (loaded == nullptr) return false;
  }
  served = MapOf(version_function);
  build = loaded;
  return true;
}

__attribute__((constructor)) void LoadAtStart() {
  Sentence why;
  OwnDirectory(/*follow_links=*/true);
  if (!Load(nullptr, &why)) SayOnce(why);
  started = true;
}

}  // namespace

void Sentence::Format(const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
}

void Sentence::Append(const char* format, ...) {
  const size_t used = strlen(text);
  va_list values;
  va_start(values, format);
  vsnprintf(text + used, sizeof(text) - used, format, values);
  va_end(values);
}

void SayOnce(const Sentence& sentence) {
  if (sentence.text[0] != '\0' && !said.exchange(true)) fprintf(stderr, "%s\n", sentence.text);
}

void* RealFunction(void* caller, const char* name) {
  const link_map* const self = MapOf(&build);
  if (void* const handle = HandleOf(MapOf(caller))) {
    void* const function = dlsym(handle, name);
    dlclose(handle);
    if (function != nullptr && MapOf(function) != self) return function;
  }
  if (void* const function = dlsym(RTLD_NEXT, name)) return function;
  // The build's own calls, where RocksDB came later than we.
  void* const version_function = dlsym(RTLD_DEFAULT, kVersion);
  void* const handle = version_function == nullptr ? nullptr : HandleOf(MapOf(version_function));
  if (handle != nullptr) return OwnSymbol(handle, name);
  // Code that belongs to no file, such as a compiler makes at run time, and a RocksDB that only its
  // user sees.
  const LoadedFiles files;
  for (size_t i = 0; i < files.size(); ++i) {
    void* const file = Loaded(files.path(i));
    void* const function = file == nullptr ? nullptr : OwnSymbol(file, name);
    if (function != nullptr && MapOf(function) != self) return function;
    if (file != nullptr) dlclose(file);
  }
  return nullptr;
}

bool IsInBuild(void* address) {
  link_map* map = nullptr;
  void* const handle = build.load();
  return handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && MapOf(address) == map;
}

bool IsServed(void* function) { return MapOf(function) == served.load(); }

const char* InsteadOf() {
  return instead_of[0] != '\0' ? instead_of : secure_getenv("ROCKSIEVE_INSTEAD_OF");
}

bool LoadFor(void* function) {
  if (!started || build.load() != nullptr) return build.load() != nullptr;
  const link_map* const map = MapOf(function);
  const char* const path = map == nullptr || map->l_name[0] == '\0' ? nullptr : map->l_name;
  const char* const only = Asked();
  if (only != nullptr && Loaded(only) != HandleOf(map)) return false;
  Sentence why;
  if (!serves_private && IsPrivateCopy(path)) {
    why.Format(
        "rocksieve: the RocksDB inside of %s is visible to nobody else, and rocksieve is not told "
        "to serve it; rocksieve_load() with that path does.",
        path);
  } else if (Load(path, &why)) {
    return true;
  }
  SayOnce(why);
  return false;
}

bool Load(const char* rocksdb, Sentence* why) {
  if (build.load() != nullptr) return IsWanted(rocksdb, served.load(), why);
  if (loading.exchange(true)) return false;  // a build that registers calls us as well
  const bool found = LoadOnce(rocksdb, why);
  loading = false;
  return found;
}

void* BuildSymbol(const char* name) {
  void* const handle = build.load();
  return handle == nullptr ? nullptr : OwnSymbol(handle, name);
}

namespace {

// Load(), which waits for another thread that is at it.
bool LoadAsAsked(const char* rocksdb, Sentence* why) {
  for (int waited_ms = 0; loading.exchange(true); ++waited_ms) {
    if (build.load() != nullptr || waited_ms == 10000) return Load(rocksdb, why);
    usleep(1000);
  }
  const bool found = LoadOnce(rocksdb, why);
  loading = false;
  return found;
}

// As RocksDB's C functions do: what was there before is replaced. An empty sentence: see Load().
void SetError(const Sentence& why, char** error) {
  if (error == nullptr) return;
  free(*error);
  *error = strdup(why.text[0] != '\0' ? why.text : kNoRocksDb);
}

}  // namespace
}  // namespace rocksieve::loader

unsigned char rocksieve_load(const char* rocksdb, char** error) {
  using namespace rocksieve::loader;
  Sentence why;
  serves_private = true;
  // What it was before, other threads may be reading. Null if there is no such file.
  if (build.load() == nullptr) asked = rocksdb == nullptr ? nullptr : realpath(rocksdb, nullptr);
  if (LoadAsAsked(rocksdb, &why)) return 1;
  SetError(why, error);
  return 0;
}

unsigned char rocksieve_load_instead_of(const char* spec, char** error) {
  using namespace rocksieve::loader;
  Sentence why;
  if (spec == nullptr || strlen(spec) >= sizeof(instead_of)) {
    why.Format("rocksieve: no spec has %zu characters", spec == nullptr ? 0 : strlen(spec));
  } else if (strcmp(spec, instead_of) == 0) {
    return 1;
  } else if (Load(Asked(), &why)) {
    why.Format(
        "rocksieve: RocksDB is in the process already (%s), and may have made its filters: \"%s\" "
        "must be said before it is loaded",
        NameOf(served.load()), spec);
  } else if (why.text[0] == '\0') {
    strcpy(instead_of, spec);
    serves_private = true;
    return 1;
  }
  SetError(why, error);
  return 0;
}

rocksdb_filterpolicy_t* rocksieve_filterpolicy_create(const char* spec, char** error) {
  rocksieve::loader::Sentence why;
  if (!rocksieve::loader::LoadAsAsked(rocksieve::loader::Asked(), &why)) {
    rocksieve::loader::SetError(why, error);
    return nullptr;
  }
  const auto create = reinterpret_cast<decltype(&rocksieve_filterpolicy_create)>(
      rocksieve::loader::BuildSymbol("rocksieve_filterpolicy_create"));
  if (create != nullptr) return create(spec, error);
  why.Format("rocksieve: the build for this RocksDB is an older one");
  rocksieve::loader::SetError(why, error);
  return nullptr;
}
