// How the rows of an Input are opened.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// The state of a column family of a database that another process may have open, and its identity.
struct LookedAt {
  OpenRows open;
  std::string database;
};
absl::StatusOr<LookedAt> LookAtDatabase(const std::string& directory,
                                        const std::string& column_family,
                                        const Attribute& attribute, const SortOptions& sort);

// Sources of the same state of the same rows, each for a thread of its own.
struct OpenedInput {
  OpenRows open;  // what they stand on
  std::vector<std::shared_ptr<Source>> sources;
};

class Input::Impl {
 public:
  // Takes the state of this moment.
  using Freeze = std::function<absl::StatusOr<OpenRows>()>;

  Impl(Freeze freeze, const Attribute& attribute)
      : freeze_(std::move(freeze)),
        on_attribute_(!attribute.is_whole_key()),
        sorted_(on_attribute_ && attribute.key_prefix_bytes() == 0) {}

  absl::StatusOr<OpenedInput> OpenSources(size_t count, const Cancellation* cancellation) const;
  // Rows come packed (join/packed_row.h).
  bool on_attribute() const { return on_attribute_; }

 private:
  const Freeze freeze_;
  const bool on_attribute_;
  const bool sorted_;  // anew
};

}  // namespace rocksieve::join
