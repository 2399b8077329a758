// How the rows of an Input are opened.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <rocksdb/snapshot.h>
#include <rocksieve/join/input.h>

#include "join/attribute/attribute.h"
#include "join/rows/source.h"
#include "join/sort/row_sorter.h"
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

// Sources of the same state of the same rows, each for a thread of its own.
struct OpenedInput {
  std::shared_ptr<rocksdb::ManagedSnapshot> snapshot;  // outlives the sources; may be null
  std::vector<std::shared_ptr<Source>> sources;
};

class Input::Impl {
 public:
  // With the snapshot given, if the input has none of its own.
  using Open = std::function<absl::StatusOr<std::unique_ptr<Source>>(
      const rocksdb::Snapshot* snapshot, const Cancellation* cancellation)>;

  // `unfrozen` is the database, if its state is not given by the input.
  Impl(Open open_rows, const Attribute& attribute, rocksdb::DB* unfrozen = nullptr)
      : open_(std::move(open_rows)),
        on_attribute_(!attribute.is_whole_key()),
        sorted_(on_attribute_ && attribute.key_prefix_bytes() == 0),
        unfrozen_(unfrozen) {}

  absl::StatusOr<OpenedInput> OpenSources(size_t count, const Cancellation* cancellation) const;
  // Rows come packed (join/packed_row.h).
  bool on_attribute() const { return on_attribute_; }

 private:
  const Open open_;
  const bool on_attribute_;
  const bool sorted_;  // anew
  rocksdb::DB* const unfrozen_;
};

}  // namespace rocksieve::join
