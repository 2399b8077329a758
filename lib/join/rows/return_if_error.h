// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

// Evaluates what gives an absl::Status, and returns it unless it is OK.
#define RETURN_IF_ERROR(status)                       \
  do {                                                \
    if (absl::Status error = (status); !error.ok()) { \
      return error;                                   \
    }                                                 \
  } while (false)
