// SPDX-License-Identifier: Apache-2.0
// A look at two inputs of this machine, side by side.
#pragma once

#include <absl/status/status.h>
#include <rocksieve/join/input.h>

#include "plugin/join_api/look.h"

namespace rocksieve::join {

// The second one takes the part of the other side. Both: of whole rows by their keys
// (JoinKeyExpression::KeyOfWholeRow()).
absl::Status LookHere(const Input& local, const Input& remote, const Look& look, ResultSink* rows,
                      JoinReport* report);

}  // namespace rocksieve::join
