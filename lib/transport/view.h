// What a server shows of its data: one unchanging state of it for each session.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "join/rows/source.h"

namespace rocksieve::join {

struct ViewRequest {
  std::string column_family;  // empty: the server's default
  std::string on;             // what of a row is its key; empty: the whole key

  bool operator==(const ViewRequest&) const = default;
};

struct View {
  std::unique_ptr<Source> source;
  std::string database;  // identity of the database, for messages
};

// Called by several threads at once.
using OpenView = std::function<absl::StatusOr<View>(const ViewRequest& request)>;

}  // namespace rocksieve::join
