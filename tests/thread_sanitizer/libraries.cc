// SPDX-License-Identifier: Apache-2.0
// Tells the thread sanitizer how gRPC orders its threads: by Abseil's locks, and by its own queues
// (what a thread wrote before it began an operation is there for the thread that takes its completion
// off a queue). The distribution's libraries are not built for the sanitizer, which then takes
// everything that one thread hands to another for a race. What is defined here comes before the
// libraries', whoever calls it, and asks the library to do the work.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <absl/base/options.h>
#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>

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

// The library's function of the same name and type.
template <typename Function>
Function* Library(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

grpc_event Taken(const grpc_event& event) {
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
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

extern "C" {

VISIBLE grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count,
                                              void* tag, void* reserved) {
  static auto* const library = Library(&grpc_call_start_batch, "grpc_call_start_batch");
  __tsan_release(tag);
  return library(call, ops, count, tag, reserved);
}

VISIBLE grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                              void* reserved) {
  static auto* const library = Library(&grpc_completion_queue_next, "grpc_completion_queue_next");
  return Taken(library(queue, deadline, reserved));
}

VISIBLE grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                               gpr_timespec deadline, void* reserved) {
  static auto* const library = Library(&grpc_completion_queue_pluck, "grpc_completion_queue_pluck");
  return Taken(library(queue, tag, deadline, reserved));
}

}  // extern "C"
