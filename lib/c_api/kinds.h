// SPDX-License-Identifier: Apache-2.0
// Kinds of an object that C has by a name, beside the alternatives of a std::variant, in their
// order.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rocksieve {

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
template <typename Variant, size_t count, size_t... indices>
Variant ReadKind(std::string_view bytes, const KindNames<count>& names,
                 std::index_sequence<indices...>) {
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
  (attempt.template operator()<indices>(), ...);
  if (found) return *std::move(found);
  if (said.empty()) {
    said = "these bytes are of another type of rocksieve's toolbox; here are";
    for (const char* const name : names)
      said += (said.back() == 'e' ? " " : ", ") + std::string(name);
  }
  throw std::invalid_argument(said);
}

template <typename Variant, size_t count>
Variant ReadKind(std::string_view bytes, const KindNames<count>& names) {
  static_assert(std::variant_size_v<Variant> == count);
  return ReadKind<Variant>(bytes, names, std::make_index_sequence<count>());
}

}  // namespace rocksieve
