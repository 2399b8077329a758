// SPDX-License-Identifier: Apache-2.0
// The rocksieve command: reads the arguments and hands over to a subcommand.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <vector>

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

// Before libraries begin: gRPC's opens a descriptor then, on which reading waits for ever.
[[gnu::section(".preinit_array"), gnu::used]] void (*occupy_first)() = OccupyStandardStreams;

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

// Prints why the command cannot go on, with a remedy. REQUIRES: in a catch block.
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

// Other threads hold any lock, and may be here as well: the first one ends the process, in limited
// time.
void TakeTheEnd() {
  static std::atomic_flag taken;
  constexpr unsigned kSeconds = 10;
  alarm(kSeconds);
  while (taken.test_and_set()) pause();
}

[[noreturn]] void Terminate() {
  TakeTheEnd();
  reserve.reset();
  if (std::current_exception() != nullptr) {
    PrintCurrentException();
  } else {
    // A second thread could not be started.
    std::fputs(kNoThreads, stderr);
  }
  WorkDir::RemoveAtTermination();
  std::_Exit(kCannotRun);
}

// Of an assertion, which has printed itself: Debian's RocksDB has them, and one fails where a file
// cannot be written.
void AfterAbort(int) {
  TakeTheEnd();
  constexpr char kText[] =
      "rocksieve: a check inside of it or RocksDB failed. If the disk is full, or files may not "
      "grow (ulimit -f), give it more room; else please report it with what is printed above.\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof(kText) - 1);
  WorkDir::RemoveAtTermination();
  std::_Exit(kCannotRun);
}

// What the command does where its environment gives it less than RocksDB and gRPC take for granted:
// closed streams, no memory, no threads, no room in files. Before anything else is opened or
// started:
// * takes the numbers of standard streams that are closed, so that no file of a database gets one
//   and what is printed goes into it; printing fails as before.
// * a file that may not grow (ulimit -f) is an error of the write, and does not end the process.
// * under a limit of memory (ulimit -v) threads take little of it in advance.
// * std::terminate(), as by an exception in a thread of RocksDB, removes temporary directories
//   (support/parallel.h), says what happened and ends the process with kCannotRun: no core is dumped. So
//   does abort(), as by an assertion of RocksDB.
void PrepareForTheWorst() {
  OccupyStandardStreams();
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGABRT, AfterAbort);
  SaveAddressSpace();
  std::set_terminate(Terminate);
  reserve = std::make_unique<char[]>(kReserveBytes);
}

}  // namespace
}  // namespace rocksieve::tools

int main(int argc, char** argv) {
  try {
    rocksieve::tools::PrepareForTheWorst();
    return rocksieve::tools::RunCommand(std::vector<std::string>(argv + 1, argv + argc));
  } catch (...) {
    rocksieve::tools::PrintCurrentException();
  }
  return rocksieve::tools::kCannotRun;
}
