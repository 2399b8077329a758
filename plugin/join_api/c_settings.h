// SPDX-License-Identifier: Apache-2.0
// What the objects of librocksieve_join.so share that C sets up by names and texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include <rocksdb/status.h>
#include <rocksieve/join/peer.h>

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

// Settings that C gives by their names and as text, as the flags of the command.
class CSettings {
 public:
  using Take = std::function<rocksdb::Status(const std::string& value)>;

  CSettings() = default;
  CSettings(const CSettings&) = delete;  // they point to what they set
  CSettings& operator=(const CSettings&) = delete;

  void Other(const std::string& name, Take take) { by_name_[name] = std::move(take); }
  // A string, or an optional one.
  template <typename Type>
  void Text(const std::string& name, Type* text) {
    Other(name, [text](const std::string& value) {
      *text = value;
      return rocksdb::Status::OK();
    });
  }
  // "true", "1" or nothing; "false" or "0".
  void Bool(const std::string& name, bool* set) {
    Other(name, [name, set](const std::string& value) {
      *set = value == "true" || value == "1" || value.empty();
      if (*set || value == "false" || value == "0") return rocksdb::Status::OK();
      return rocksdb::Status::InvalidArgument(name + " takes true or false, not " + value);
    });
  }
  // From `least` to `most` of such units.
  template <typename Type>
  void Number(const std::string& name, uint64_t most, Type* set, uint64_t unit = 1,
              uint64_t least = 1) {
    Other(name, [name, most, set, unit, least](const std::string& value) {
      uint64_t number = 0;
      const char* const end = value.data() + value.size();
      const auto [stopped, result] = std::from_chars(value.data(), end, number);
      if (result != std::errc() || stopped != end || number < least || number > most) {
        return rocksdb::Status::InvalidArgument(name + " takes a number from " +
                                                std::to_string(least) + " to " +
                                                std::to_string(most) + ", not " + value);
      }
      *set = static_cast<Type>(number * unit);
      return rocksdb::Status::OK();
    });
  }
  void Credentials(join::Credentials* credentials) {
    Text("ca", &credentials->authority_file);
    Text("cert", &credentials->certificate_file);
    Text("key", &credentials->key_file);
    Bool("insecure", &credentials->insecure);
    Bool("insecure-network", &credentials->insecure_network);
  }

  // Sets what has that name; else the error lists all names. `what` has the settings: "join".
  rocksdb::Status Set(const std::string& what, const char* name, const std::string& value) const {
    const std::string wanted = name == nullptr ? "" : name;
    const auto found = by_name_.find(wanted);
    if (found != by_name_.end()) return found->second(value);
    std::string known;
    for (const auto& [each, unused] : by_name_) known += (known.empty() ? "" : ", ") + each;
    return rocksdb::Status::InvalidArgument("a " + what + " has no \"" + wanted + "\"; it has " +
                                            known);
  }

 private:
  std::map<std::string, Take> by_name_;
};

}  // namespace rocksieve::join
