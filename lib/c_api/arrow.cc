// SPDX-License-Identifier: Apache-2.0
// What rocksieve/c_arrow.h has for all kinds of objects, in librocksieve_filters.so.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include <rocksieve/c_arrow.h>

#include "lib/arrow/export.h"
#include "lib/c_api/errors.h"

namespace rocksieve {
namespace {

// Python's, which is in a process that has capsules.
template <typename Function>
Function OfPython(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

template <typename Struct>
void ReleaseAndFree(void* owned) {
  auto* const data = static_cast<Struct*>(owned);
  if (data->release != nullptr) data->release(data);
  std::free(owned);
}

}  // namespace
}  // namespace rocksieve

unsigned char rocksieve_arrow_booleans(const uint8_t* bits, size_t count, ArrowSchema* schema,
                                       ArrowArray* array, char** error) {
  if ((bits == nullptr && count > 0) || schema == nullptr || array == nullptr) {
    return rocksieve::FailForC("there are no bits, or no place for the array", error);
  }
  return rocksieve::WithoutThrowing<unsigned char>(0, error, [&]() -> unsigned char {
    const size_t bytes = (count + 7) / 8;
    // A buffer is there, whatever is in it.
    const std::shared_ptr<char[]> copy(new char[bytes + 1]);
    if (bytes > 0) std::memcpy(copy.get(), bits, bytes);
    rocksieve::arrow::Export({.format = "b"}, schema);
    try {
      rocksieve::arrow::Export(
          {.length = static_cast<int64_t>(count), .buffers = {nullptr, copy.get()}}, copy, array);
    } catch (...) {
      schema->release(schema);
      throw;
    }
    return 1;
  });
}

void rocksieve_arrow_capsule_destructor(void* capsule) {
  static const auto name_of =
      rocksieve::OfPython<const char* (*)(void* capsule)>("PyCapsule_GetName");
  static const auto pointer_in =
      rocksieve::OfPython<void* (*)(void* capsule, const char* name)>("PyCapsule_GetPointer");
  if (name_of == nullptr || pointer_in == nullptr) return;
  const char* const name = name_of(capsule);
  if (name == nullptr) return;
  void* const owned = pointer_in(capsule, name);
  if (std::strcmp(name, "arrow_array_stream") == 0) {
    rocksieve::ReleaseAndFree<ArrowArrayStream>(owned);
  } else if (std::strcmp(name, "arrow_array") == 0) {
    rocksieve::ReleaseAndFree<ArrowArray>(owned);
  } else if (std::strcmp(name, "arrow_schema") == 0) {
    rocksieve::ReleaseAndFree<ArrowSchema>(owned);
  }
}
