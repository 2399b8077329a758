// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

// Evaluates what gives a status, Abseil's or RocksDB's, and returns it unless it is OK.
#define RETURN_IF_ERROR(...)                                                       \
  do {                                                                             \
    if (auto return_if_error_status = __VA_ARGS__; !return_if_error_status.ok()) { \
      return return_if_error_status;                                               \
    }                                                                              \
  } while (false)

// Evaluates what gives an absl::StatusOr, and returns its status unless it is OK. `lhs` gets the
// value: a variable or the declaration of one, without a comma.
#define ASSIGN_OR_RETURN(lhs, ...) ASSIGN_OR_RETURN_EXPANDED(__LINE__, lhs, __VA_ARGS__)
#define ASSIGN_OR_RETURN_EXPANDED(line, ...) ASSIGN_OR_RETURN_AT(line, __VA_ARGS__)
#define ASSIGN_OR_RETURN_AT(line, lhs, ...)                                              \
  auto assign_or_return_##line = __VA_ARGS__;                                            \
  if (!assign_or_return_##line.ok()) return std::move(assign_or_return_##line).status(); \
  lhs = *std::move(assign_or_return_##line)
