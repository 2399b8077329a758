// The rows that a program serves, opened anew for each session.
#pragma once

#include <absl/status/statusor.h>
#include <rocksieve/join/server.h>

#include "lib/transport/join_service.h"
#include "lib/transport/view_registry.h"

namespace rocksieve::join {

absl::StatusOr<OpenView> ViewsOf(const ServedDatabase& served);

JoinServiceOptions ServiceOptionsOf(const ServedDatabase& served, const ServeOptions& options);

}  // namespace rocksieve::join
