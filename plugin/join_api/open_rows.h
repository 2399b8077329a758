// Rows of databases, by what they are joined on, as one moment has them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <rocksieve/join/input.h>

#include "lib/join/attribute/attribute.h"
#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/cancellation.h"

namespace rocksieve::join {

// What is joined on, with the caller's extractors.
absl::StatusOr<Attribute> AttributeOf(const std::string& on, const Extractors& extractors);

// Whether a side that joins on this sends whole rows in the values of others. The text may name an
// extractor that only the other side has.
bool IsAttribute(const std::string& on);

// The same rows by an attribute of theirs, sorted anew if they do not come in its order. May take
// its time, unless it is cancelled.
absl::StatusOr<std::unique_ptr<Source>> ByAttribute(std::unique_ptr<Source> rows,
                                                    const Attribute& attribute,
                                                    const SortOptions& sort,
                                                    const Cancellation* cancellation);

// Rows of a column family, by an attribute.
absl::StatusOr<std::unique_ptr<Source>> OpenDatabase(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const rocksdb::ReadOptions& read,
    const KeyInterval& interval, const Attribute& attribute, const SortOptions& sort,
    const Cancellation* cancellation);

// Opens the rows of one state, which it holds: the sources need it as long as they live.
using OpenRows =
    std::function<absl::StatusOr<std::unique_ptr<Source>>(const Cancellation* cancellation)>;

// One state of a column family's rows, and which database's it is.
struct RowsSnapshot {
  OpenRows open;
  std::string database;  // identity, for messages
};

// Of a database that another process may have open. An empty name is the default column family's.
absl::StatusOr<RowsSnapshot> SnapshotOfDirectory(const std::string& directory,
                                                 const std::string& column_family,
                                                 const Attribute& attribute,
                                                 const SortOptions& sort);

}  // namespace rocksieve::join
