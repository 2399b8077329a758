// How a Deserialize() of this folder says no.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/toolbox/envelope.h"

namespace rocksieve {

// *error may be null.
inline std::nullopt_t Refuse(EnvelopeType type, std::string_view why, std::string* error) {
  if (error != nullptr) {
    *error = std::string(EnvelopeTypeName(type)) + ": invalid payload: " + std::string(why);
  }
  return std::nullopt;
}

}  // namespace rocksieve
