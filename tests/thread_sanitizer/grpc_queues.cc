// SPDX-License-Identifier: Apache-2.0
// Tells the thread sanitizer what gRPC's queues order: what a thread wrote before it began an
// operation is there for the thread that takes its completion off a queue. The distribution's gRPC
// is not built for the sanitizer, and the queue has no locks that it could see. What is defined here
// comes before the library's, whoever calls it, and asks the library to do the work.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <sanitizer/tsan_interface.h>

#define VISIBLE __attribute__((visibility("default")))

namespace {

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
