#include "tools/command/last_resort.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "support/work_dir.h"
#include "tools/command/command.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kStackBytes = 1 << 20;  // instead of 8 MiB of address space
constexpr size_t kReserveBytes = 1 << 20;

// Given back when memory is out, so that something can still be said and removed.
std::unique_ptr<char[]> reserve;

constexpr char kNoMemory[] =
    "rocksieve: out of memory: give it fewer keys, or more memory (ulimit -v)\n";
constexpr char kNoThreads[] =
    "rocksieve: the system gives it no more threads: allow more memory (ulimit -v) or processes "
    "(ulimit -u)\n";

// Opened so that reading or writing fails, as with a closed stream.
void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The smallest number that is free is the stream's.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void SaveAddressSpace() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);  // each takes 64 MiB of it
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
}

[[noreturn]] void Terminate() {
  reserve.reset();
  if (std::current_exception() != nullptr) {
    PrintCurrentException();
  } else {
    // So ends who cannot start the second of several threads.
    std::fputs(kNoThreads, stderr);
  }
  WorkDir::RemoveAtTermination();
  std::_Exit(kCannotRun);
}

// Of an assertion, which has printed itself: Debian's RocksDB has them, and one fails where a file
// cannot be written. The thread may hold any lock, so that the time is limited.
void AfterAbort(int) {
  constexpr unsigned kSeconds = 10;
  alarm(kSeconds);
  constexpr char kText[] =
      "rocksieve: a check inside of it or RocksDB failed. If the disk is full, or files may not "
      "grow "
      "(ulimit -f), give it more room; else please report it with what is printed above.\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof(kText) - 1);
  WorkDir::RemoveAtTermination();
  std::_Exit(kCannotRun);
}

}  // namespace

void PrepareForTheWorst() {
  OccupyStandardStreams();
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGABRT, AfterAbort);
  SaveAddressSpace();
  reserve = std::make_unique<char[]>(kReserveBytes);
  std::set_terminate(Terminate);
}

void PrintCurrentException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    std::fputs(kNoMemory, stderr);
  } catch (const std::filesystem::filesystem_error& error) {
    std::fprintf(stderr, "rocksieve: %s\n", error.what());
  } catch (const std::system_error& error) {
    const bool threads = error.code() == std::errc::resource_unavailable_try_again;
    const bool memory = error.code() == std::errc::not_enough_memory;
    if (threads || memory) {
      std::fputs(threads ? kNoThreads : kNoMemory, stderr);
    } else {
      std::fprintf(stderr, "rocksieve: %s\n", error.what());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rocksieve: %s\n", error.what());
  } catch (...) {
    std::fputs("rocksieve: ended by an exception that has no name\n", stderr);
  }
}

}  // namespace rocksieve::tools
