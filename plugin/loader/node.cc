// SPDX-License-Identifier: Apache-2.0
// librocksieve.so as an extension of Node: plugin/node/index.js.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <rocksieve/c.h>

#include "plugin/loader/loader.h"

namespace {

// Functions of Node-API, which only Node has: all take an environment and give 0 for success.
using GetProperty = int (*)(void* environment, void* object, const char* name, void** value);
using GetString = int (*)(void* environment, void* value, char* text, size_t bytes, size_t* used);
using ThrowError = int (*)(void* environment, const char* code, const char* message);

template <typename Function>
Function Find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// A text of the object, null if it has none by that name. Free it.
char* TextOf(void* environment, void* object, const char* name) {
  const auto get_property = Find<GetProperty>("napi_get_named_property");
  const auto get_string = Find<GetString>("napi_get_value_string_utf8");
  void* value = nullptr;
  size_t length = 0;
  if (get_property == nullptr || get_string == nullptr ||
      get_property(environment, object, name, &value) != 0 ||
      get_string(environment, value, nullptr, 0, &length) != 0) {
    return nullptr;
  }
  char* const text = static_cast<char*>(malloc(length + 1));
  if (text != nullptr) get_string(environment, value, text, length + 1, &length);
  return text;
}

}  // namespace

// Node's process.dlopen() takes a library that has it for an extension, and gives what it returns
// to the program: here the object that it was called with, whose properties say what to do.
// RocksDBs in addons are what a program of Node means, those that come later as well.
extern "C" ROCKSIEVE_C_EXPORT void* napi_register_module_v1(void* environment, void* exports) {
  char* const addon = TextOf(environment, exports, "addon");
  char* const instead_of = TextOf(environment, exports, "insteadOf");
  char* why = nullptr;
  bool done = (addon == nullptr && instead_of != nullptr) || rocksieve_load(addon, &why) != 0;
  if (instead_of != nullptr) done = rocksieve_load_instead_of(instead_of, &why) != 0;
  const auto throw_error = Find<ThrowError>("napi_throw_error");
  if (!done && throw_error != nullptr && why != nullptr &&
      strcmp(why, rocksieve::loader::kNoRocksDb) != 0) {
    throw_error(environment, /*code=*/nullptr, why);
  }
  free(why);
  free(instead_of);
  free(addon);
  return exports;
}
