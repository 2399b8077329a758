// A database's rows as a source of a join, as they were at one moment.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "join/rows/source.h"
#include "join/sort/row_sorter.h"
#include "transport/cancellation.h"

namespace rocksieve {
class FrozenView;
}  // namespace rocksieve

namespace rocksieve::tools {

// The state of one column family, which several sources may read, each in a thread of its own.
struct FrozenFamily {
  std::shared_ptr<FrozenView> view;
  std::string database;  // identity of the database, not its path
};

absl::StatusOr<FrozenFamily> FreezeFamily(const std::string& directory,
                                          const std::string& column_family);

// By an attribute if `on` is not empty. Holds the view. `cancellation`, of the sorting that this
// may take, may be null.
absl::StatusOr<std::unique_ptr<join::Source>> SourceOf(const FrozenFamily& family,
                                                       const std::string& on,
                                                       join::SortOptions sort,
                                                       const join::Cancellation* cancellation);

// For as many threads, all of the same rows, which are sorted once if they have to be.
absl::StatusOr<std::vector<std::shared_ptr<join::Source>>> SourcesOf(
    const FrozenFamily& family, const std::string& on, const join::SortOptions& sort,
    const join::Cancellation* cancellation, size_t threads);

// Whether rows of such a source are packed in values, as attributes have them.
bool IsAttribute(const std::string& on);

}  // namespace rocksieve::tools
