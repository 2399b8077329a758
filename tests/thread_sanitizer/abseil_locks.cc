// SPDX-License-Identifier: Apache-2.0
// Tells the thread sanitizer of Abseil's locks, by which gRPC orders its threads. The
// distribution's Abseil is not built for the sanitizer, which then takes everything that one thread
// hands to another by gRPC for a race. What is defined here comes before the library's, whoever
// calls it, and asks the library to do the work.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <absl/base/options.h>
#include <absl/synchronization/mutex.h>

#define VISIBLE __attribute__((visibility("default")))
#define TEXT_OF(name) #name
#define TEXT_OF_VALUE(macro) TEXT_OF(macro)

namespace {

// The library's function, by its mangled name after "_ZN4absl", where % stands for the inline
// namespace that distributions put there, and @ for a later mention of both.
template <typename Function>
Function* Library(std::string_view pattern) {
  std::string space, mangled = "_ZN4absl";
#if ABSL_OPTION_USE_INLINE_NAMESPACE
  space = TEXT_OF_VALUE(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  space = std::to_string(space.size()) + space;
#endif
  for (const char letter : pattern) {
    if (letter == '%') {
      mangled += space;
    } else if (letter == '@') {
      mangled += space.empty() ? "NS_" : "NS0_";
    } else {
      mangled += letter;
    }
  }
  void* const found = dlsym(RTLD_NEXT, mangled.c_str());
  if (found == nullptr) {
    std::fprintf(stderr, "There is no shared library with Abseil's %s\n", mangled.c_str());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

VISIBLE void Mutex::Lock() {
  static auto* const lock = Library<void(Mutex*)>("%5Mutex4LockEv");
  lock(this);
  __tsan_acquire(this);
}

VISIBLE bool Mutex::TryLock() {
  static auto* const try_lock = Library<bool(Mutex*)>("%5Mutex7TryLockEv");
  const bool locked = try_lock(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

VISIBLE void Mutex::Unlock() {
  static auto* const unlock = Library<void(Mutex*)>("%5Mutex6UnlockEv");
  __tsan_release(this);
  unlock(this);
}

// Waiting gives the lock back, and takes it again.
VISIBLE void CondVar::Wait(Mutex* mutex) {
  static auto* const wait = Library<void(CondVar*, Mutex*)>("%7CondVar4WaitEP@5MutexE");
  __tsan_release(mutex);
  wait(this, mutex);
  __tsan_acquire(mutex);
}

VISIBLE bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const wait =
      Library<bool(CondVar*, Mutex*, Duration)>("%7CondVar15WaitWithTimeoutEP@5MutexE@8DurationE");
  __tsan_release(mutex);
  const bool timed_out = wait(this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

VISIBLE bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const wait =
      Library<bool(CondVar*, Mutex*, Time)>("%7CondVar16WaitWithDeadlineEP@5MutexE@4TimeE");
  __tsan_release(mutex);
  const bool timed_out = wait(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

ABSL_NAMESPACE_END
}  // namespace absl
