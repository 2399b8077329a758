// SPDX-License-Identifier: Apache-2.0
// Loaded before a program, ends it as kill -9 does, instead of its KILL_AT_CALL-th call that
// changes which files are there or makes them durable; 1 is the first. With KILL_AT_WRITES=1, calls
// that make a file or write to one count as well; of such a write, half of the bytes are written.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> calls{0};

bool IsTheOne() {
  const char* const at = std::getenv("KILL_AT_CALL");
  return at != nullptr && ++calls == std::atol(at);
}
bool CountsWrites() { return std::getenv("KILL_AT_WRITES") != nullptr; }
void Kill() { kill(getpid(), SIGKILL); }

template <typename Function>
Function* Uncounted(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
template <typename Function>
Function* Original(const char* name) {
  if (IsTheOne()) Kill();
  return Uncounted<Function>(name);
}

// Calls `write` with a number of bytes.
template <typename Write>
ssize_t Written(int file, size_t bytes, Write write) {
  struct stat status {};
  const bool counts = CountsWrites() && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!counts || !IsTheOne()) return write(bytes);
  write(bytes / 2);
  Kill();
  return -1;
}

int Opened(const char* name, const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && CountsWrites() && IsTheOne()) Kill();
  return Uncounted<int(const char*, int, ...)>(name)(path, flags, mode);
}

mode_t ModeOf(int flags, va_list* arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(*arguments, mode_t) : 0;
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

ssize_t write(int file, const void* data, size_t bytes) {
  static auto* const original = Uncounted<ssize_t(int, const void*, size_t)>("write");
  return Written(file, bytes, [&](size_t some) { return original(file, data, some); });
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  static auto* const original = Uncounted<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return Written(file, bytes, [&](size_t some) { return original(file, data, some, offset); });
}
int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, &arguments);
  va_end(arguments);
  return Opened("open", path, flags, mode);
}

}  // extern "C"
