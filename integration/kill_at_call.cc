// SPDX-License-Identifier: Apache-2.0
// Loaded before a program, ends it as kill -9 does, instead of its KILL_AT_CALL-th call that
// changes which files are there or makes them durable; 1 is the first.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> calls{0};

template <typename Function>
Function* Original(const char* name) {
  const char* const at = std::getenv("KILL_AT_CALL");
  if (at != nullptr && ++calls == std::atol(at)) kill(getpid(), SIGKILL);
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int fsync(int file) { return Original<int(int)>("fsync")(file); }
int fdatasync(int file) { return Original<int(int)>("fdatasync")(file); }
int ftruncate(int file, off_t bytes) noexcept {
  return Original<int(int, off_t)>("ftruncate")(file, bytes);
}
int rename(const char* from, const char* to) noexcept {
  return Original<int(const char*, const char*)>("rename")(from, to);
}
int unlink(const char* path) noexcept { return Original<int(const char*)>("unlink")(path); }

}  // extern "C"
