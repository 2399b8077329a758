// SPDX-License-Identifier: Apache-2.0
// What functions of rocksieve/c.h share: errors are RocksDB's way, and nothing is thrown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rocksieve {

// *error (error may be null) becomes a copy of the text, which the caller frees, in place of what
// it was; null if there is no memory for that.
inline void SetCError(std::string_view text, char** error) {
  if (error == nullptr) return;
  std::free(*error);
  *error = strndup(text.data(), text.size());
}

// The same, and 0, which C functions return then.
inline unsigned char FailForC(std::string_view text, char** error) {
  SetCError(text, error);
  return 0;
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

// Kinds of an object that C has by a name, beside the alternatives of a std::variant, in their
// order.

template <typename Options>
Options WithSeed(Options options, uint64_t seed) {
  options.seed = seed;
  return options;
}

template <size_t count>
using KindNames = std::array<const char*, count>;

// The place of a name. Throws std::invalid_argument, which lists all of them, if there is none.
template <size_t count>
size_t KindOf(const char* name, const KindNames<count>& names) {
  const std::string_view wanted = name == nullptr ? "" : name;
  std::string known;
  for (size_t i = 0; i < count; i++) {
    if (wanted == names[i]) return i;
    known += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + std::string(names[i]);
  }
  throw std::invalid_argument("there is no \"" + std::string(wanted) + "\"; there are " + known);
}

// The alternative that wrote these bytes. Throws std::invalid_argument if none did.
template <typename Variant, size_t count>
Variant ReadKind(std::string_view bytes, const KindNames<count>& names) {
  static_assert(std::variant_size_v<Variant> == count);
  std::optional<Variant> found;
  std::string said;
  const auto attempt = [&]<size_t index>() {
    if (found) return;
    std::string error;
    auto read = std::variant_alternative_t<index, Variant>::Deserialize(bytes, &error);
    if (read) {
      found.emplace(std::in_place_index<index>, *std::move(read));
    } else if (said.empty() && error.rfind("another type:", 0) != 0) {
      said = error;  // of intact bytes, the type that they are of says what is wrong with them
    }
  };
  [&]<size_t... indices>(std::index_sequence<indices...>) {
    (attempt.template operator()<indices>(), ...);
  }
  (std::make_index_sequence<count>());
  if (found) return *std::move(found);
  if (said.empty()) {
    said = "these bytes are of another type of rocksieve's toolbox; here are";
    for (const char* const name : names)
      said += (said.back() == 'e' ? " " : ", ") + std::string(name);
  }
  throw std::invalid_argument(said);
}

// Of an object of any of the kinds.
template <typename Variant>
size_t MemoryBytesOf(const Variant& object) {
  return std::visit([](const auto& of) { return of.MemoryBytes(); }, object);
}

template <typename Variant>
char* SerializeForC(const Variant& object, size_t* size, char** error) {
  return WithoutThrowing<char*>(nullptr, error, [&] {
    return CopyForC(std::visit([](const auto& of) { return of.Serialize(); }, object), size, error);
  });
}

// Adds what `from` has to an object of its kind. With itself: of a copy, which does not change
// meanwhile.
template <typename Object>
bool MergeFrom(const Object& from, Object* into) {
  return &from == into ? into->Merge(Object(from)) : into->Merge(from);
}

}  // namespace rocksieve
