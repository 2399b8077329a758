// How the rows of an Input are opened.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <absl/status/statusor.h>
#include <rocksieve/join/input.h>

#include "join/attribute.h"
#include "join/row_sorter.h"
#include "join/source.h"
#include "transport/cancellation.h"

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

class Input::Impl {
 public:
  using Open = std::function<absl::StatusOr<std::unique_ptr<Source>>(const Cancellation*)>;

  Impl(Open open_rows, bool on_attribute)
      : open_(std::move(open_rows)), on_attribute_(on_attribute) {}

  absl::StatusOr<std::unique_ptr<Source>> OpenSource(const Cancellation* cancellation) const {
    return open_(cancellation);
  }
  // Rows come packed (join/packed_row.h).
  bool on_attribute() const { return on_attribute_; }

 private:
  const Open open_;
  const bool on_attribute_;
};

}  // namespace rocksieve::join
