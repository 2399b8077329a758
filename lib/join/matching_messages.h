// What matching.cc and its moves, each in a file of its own (matching_MOVE.cc), have in common.
#pragma once

#include <cstdint>
#include <string>

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

namespace rocksieve::join {

// The first byte of messages that answer a move; that of a move is its MoveKind.
inline constexpr uint8_t kHitsMessage = 0x10;
inline constexpr uint8_t kVerdictMessage = 0x11;
inline constexpr uint8_t kDifferenceMessage = 0x12;
inline constexpr uint8_t kMoreSymbolsMessage = 0x13;
inline constexpr uint8_t kMarksMessage = 0x14;
inline constexpr uint8_t kMoreParityMessage = 0x15;
inline constexpr uint8_t kParityMessage = 0x16;

inline absl::Status Nonsense(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the other side sent ", what));
}

}  // namespace rocksieve::join
