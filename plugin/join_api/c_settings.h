// SPDX-License-Identifier: Apache-2.0
// Settings that C gives by their names and as text, as the flags of the command; and errors as C
// has them.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <system_error>

#include <rocksdb/status.h>

#include "lib/c_api/errors.h"

namespace rocksieve::join {

// Runs `function`, which returns a status; false, and an error, if that is not OK or it throws.
template <typename Function>
bool Succeeds(char** error, const Function& function) {
  try {
    const rocksdb::Status status = function();
    if (status.ok()) return true;
    const char* const text = status.getState();
    SetCError(text != nullptr ? text : status.ToString(), error);
  } catch (...) {
    SetCErrorOfException(error);
  }
  return false;
}

template <typename Owner>
using CSetter =
    std::function<rocksdb::Status(Owner* owner, const std::string& name, const std::string& value)>;

template <typename Owner>
using CSetters = std::map<std::string, CSetter<Owner>, std::less<>>;

// What sets a text, a switch or a number of `Owner`.
template <typename Owner>
struct CSettings {
  static CSetter<Owner> Text(std::string& (*of)(Owner* owner)) {
    return [of](Owner* owner, const std::string&, const std::string& value) {
      of(owner) = value;
      return rocksdb::Status::OK();
    };
  }

  // "true", "1" or nothing; "false" or "0".
  static CSetter<Owner> Bool(bool& (*of)(Owner* owner)) {
    return [of](Owner* owner, const std::string& name, const std::string& value) {
      bool& set = of(owner);
      set = value == "true" || value == "1" || value.empty();
      if (set || value == "false" || value == "0") return rocksdb::Status::OK();
      return rocksdb::Status::InvalidArgument(name + " takes true or false, not " + value);
    };
  }

  // From 1 to `most`.
  static CSetter<Owner> Number(uint64_t most, void (*set)(Owner* owner, uint64_t value)) {
    return [most, set](Owner* owner, const std::string& name, const std::string& value) {
      uint64_t number = 0;
      const char* const end = value.data() + value.size();
      const auto [stopped, result] = std::from_chars(value.data(), end, number);
      if (result != std::errc() || stopped != end || number < 1 || number > most) {
        return rocksdb::Status::InvalidArgument(name + " takes a number from 1 to " +
                                                std::to_string(most) + ", not " + value);
      }
      set(owner, number);
      return rocksdb::Status::OK();
    };
  }
};

// Sets what has that name; else the error lists all names. `what` is the owner's, "join".
template <typename Owner>
rocksdb::Status SetByName(const CSetters<Owner>& setters, const std::string& what, Owner* owner,
                          const char* name, const char* value) {
  if (owner == nullptr) return rocksdb::Status::InvalidArgument("there is no " + what);
  const std::string wanted = name == nullptr ? "" : name;
  const auto setter = setters.find(wanted);
  if (setter != setters.end()) return setter->second(owner, wanted, value == nullptr ? "" : value);
  std::string known;
  for (const auto& [each, unused] : setters) known += (known.empty() ? "" : ", ") + each;
  return rocksdb::Status::InvalidArgument("a " + what + " has no \"" + wanted + "\"; it has " +
                                          known);
}

}  // namespace rocksieve::join
