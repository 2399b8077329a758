// A database's rows as a source of a join, as they were at one moment.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "join/source.h"

namespace rocksieve::tools {

class FrozenView;

// The state of one column family, which several sources may read, each in a thread of its own.
struct FrozenFamily {
  std::shared_ptr<FrozenView> view;
  std::string database;  // identity of the database, not its path
};

absl::StatusOr<FrozenFamily> FreezeFamily(const std::string& directory,
                                          const std::string& column_family);

// By an attribute if `on` is not empty. Holds the view.
absl::StatusOr<std::unique_ptr<join::Source>> SourceOf(const FrozenFamily& family,
                                                       const std::string& on,
                                                       size_t sort_memory_bytes);

// Whether rows of such a source are packed in values, as attributes have them.
bool IsAttribute(const std::string& on);

}  // namespace rocksieve::tools
