// SPDX-License-Identifier: Apache-2.0
// What all functions of rocksieve/c.h do with errors: RocksDB's way, and nothing is thrown.
#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

namespace rocksieve {

// *error (error may be null) becomes a copy of the text, which the caller frees, in place of what
// it was; null if there is no memory for that.
inline void SetCError(std::string_view text, char** error) {
  if (error == nullptr) return;
  std::free(*error);
  *error = strndup(text.data(), text.size());
}

// Says what was thrown. REQUIRES: in a catch block.
inline void SetCErrorOfException(char** error) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    SetCError("no memory", error);
  } catch (const std::exception& exception) {
    SetCError(exception.what(), error);
  } catch (...) {
    SetCError("an exception without a name", error);
  }
}

// What `function` returns, or `otherwise`, and an error, if it throws.
template <typename Result, typename Function>
Result WithoutThrowing(Result otherwise, char** error, const Function& function) {
  try {
    return function();
  } catch (...) {
    SetCErrorOfException(error);
    return otherwise;
  }
}

// A copy that the caller frees; null, and an error, if there is no memory.
inline char* CopyForC(std::string_view bytes, size_t* size, char** error) {
  // malloc(0) may be null.
  char* const copy = static_cast<char*>(std::malloc(bytes.empty() ? 1 : bytes.size()));
  if (copy == nullptr) {
    SetCError("no memory", error);
    return nullptr;
  }
  std::memcpy(copy, bytes.data(), bytes.size());
  *size = bytes.size();
  return copy;
}

}  // namespace rocksieve
