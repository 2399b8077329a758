// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.h"

#include <atomic>
#include <map>

namespace rocksieve::fuzz {
namespace {

using Run = void (*)(std::string_view input);

std::map<std::string_view, Run>& Targets() {
  static auto& targets = *new std::map<std::string_view, Run>();
  return targets;
}

Run target = nullptr;

}  // namespace

Target::Target(std::string_view name, Run run) { Targets()[name] = run; }

}  // namespace rocksieve::fuzz

// The target is that of the program's name, fuzz_NAME.
extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  using namespace rocksieve::fuzz;
  const std::string_view program = **argv;
  const size_t at = program.rfind("fuzz_");
  const std::string_view name = at == program.npos ? program : program.substr(at + 5);
  target = Targets()[name];
  if (target != nullptr) return 0;
  std::fprintf(stderr, "fuzz: there is no target %s\n", std::string(name).c_str());
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rocksieve::fuzz::target({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifdef ROCKSIEVE_ADDRESS_SANITIZER
// From sanitizer/allocator_interface.h, which GCC's package does not have.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, size_t),
                                              void (*free_hook)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* p);
}

namespace rocksieve::fuzz {
namespace {

std::atomic<int64_t> in_use = 0, limit = INT64_MAX;

void OnAllocation(const volatile void*, size_t bytes) {
  const int64_t now = in_use.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
  if (now <= limit.load()) return;
  limit = INT64_MAX;  // the report takes memory too
  std::fprintf(stderr, "fuzz: %zu bytes more than are allowed, by an allocation of %zu\n",
               static_cast<size_t>(now), bytes);
  std::abort();
}

void OnRelease(const volatile void* memory) {
  if (memory == nullptr) return;
  in_use -= static_cast<int64_t>(__sanitizer_get_allocated_size(memory));
}

}  // namespace

MemoryWatch::MemoryWatch(size_t most_more_bytes) {
  static const bool installed = [] {
    __sanitizer_install_malloc_and_free_hooks(OnAllocation, OnRelease);
    return true;
  }();
  if (!installed) std::abort();
  limit = in_use.load() + static_cast<int64_t>(most_more_bytes);
}

MemoryWatch::~MemoryWatch() { limit = INT64_MAX; }

}  // namespace rocksieve::fuzz

#else

namespace rocksieve::fuzz {
MemoryWatch::MemoryWatch(size_t) {}
MemoryWatch::~MemoryWatch() = default;
}  // namespace rocksieve::fuzz

#endif
