// What a server shows of its data: one unchanging state of it for each session.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "lib/join/rows/source.h"
#include "lib/transport/cancellation.h"

namespace rocksieve::join {

struct ViewRequest {
  std::string column_family;  // empty: the server's default
  std::string on;             // what of a row is its key; empty: the whole key

  bool operator==(const ViewRequest&) const = default;
};

struct View {
  std::shared_ptr<Source> source;
  std::string database;  // identity of the database, for messages
};

// What opening a view may take.
struct ViewTerms {
  // While rows are sorted anew; and what may stay in memory of them as long as the view is there,
  // which may be longer than the session.
  uint64_t sort_memory_bytes = uint64_t{64} << 20;
  uint64_t kept_memory_bytes = UINT64_MAX;
  const Cancellation* cancellation = nullptr;  // null: it is not given up
};

// Called by several threads at once.
using OpenView =
    std::function<absl::StatusOr<View>(const ViewRequest& request, const ViewTerms& terms)>;

}  // namespace rocksieve::join
