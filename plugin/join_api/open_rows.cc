#include "plugin/join_api/open_rows.h"

#include <utility>

#include "lib/join/attribute/attribute_source.h"
#include "lib/join/attribute/key_prefix_source.h"
#include "lib/transport/cancellation.h"
#include "plugin/database/open_errors.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/join/rocksdb_source.h"

namespace rocksieve::join {
namespace {

class PrefixesOfRows final : public Source {
 public:
  PrefixesOfRows(std::unique_ptr<Source> rows, size_t bytes)
      : rows_(std::move(rows)), prefixes_(rows_.get(), bytes) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return prefixes_.Scan(interval);
  }
  std::unique_ptr<Cursor> ScanAbsent() override { return prefixes_.ScanAbsent(); }
  uint64_t EstimateKeys() override { return prefixes_.EstimateKeys(); }

 private:
  const std::unique_ptr<Source> rows_;
  KeyPrefixSource prefixes_;
};

}  // namespace

absl::StatusOr<Attribute> AttributeOf(const std::string& on, const Extractors& extractors) {
  if (on.empty()) return Attribute();
  NamedExtractors named;
  for (const auto& [name, extract] : extractors) {
    named[name] = [extract](const Row& row, std::string* attribute) {
      return extract(row.key, row.value, attribute);
    };
  }
  return Attribute::Parse(on, named);
}

bool IsAttribute(const std::string& on) { return !on.empty() && on != "key"; }

absl::StatusOr<std::unique_ptr<Source>> ByAttribute(std::unique_ptr<Source> rows,
                                                    const Attribute& attribute,
                                                    const SortOptions& sort,
                                                    const Cancellation* cancellation) {
  if (attribute.is_whole_key()) return rows;
  if (attribute.key_prefix_bytes() > 0) {
    return std::make_unique<PrefixesOfRows>(std::move(rows), attribute.key_prefix_bytes());
  }
  const Cancellation never;
  if (cancellation == nullptr) cancellation = &never;
  CancellableSource cancellable(rows.get(), cancellation);
  SortOptions until_cancelled = sort;
  until_cancelled.check = [cancellation] { return cancellation->Check(); };
  absl::StatusOr<std::unique_ptr<AttributeSource>> sorted =
      AttributeSource::Sort(&cancellable, attribute, until_cancelled);
  if (!sorted.ok()) return sorted.status();
  return *std::move(sorted);
}

absl::StatusOr<std::unique_ptr<Source>> OpenDatabase(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const rocksdb::ReadOptions& read,
    const KeyInterval& interval, const Attribute& attribute, const SortOptions& sort,
    const Cancellation* cancellation) {
  RocksDbSourceOptions options;
  options.interval = interval;
  options.snapshot = read.snapshot;
  options.verify_checksums = read.verify_checksums;
  if (read.readahead_size > 0) options.readahead_bytes = read.readahead_size;
  const bool sorted_anew = !attribute.is_whole_key() && attribute.key_prefix_bytes() == 0;
  options.any_order = sorted_anew && interval.begin.empty() && !interval.end;
  absl::StatusOr<std::unique_ptr<RocksDbSource>> rows = RocksDbSource::Open(db, family, options);
  if (!rows.ok()) return rows.status();
  return ByAttribute(*std::move(rows), attribute, sort, cancellation);
}

absl::StatusOr<RowsSnapshot> SnapshotOfDirectory(const std::string& directory,
                                                 const std::string& column_family,
                                                 const Attribute& attribute,
                                                 const SortOptions& sort) {
  std::unique_ptr<ReadOnlySnapshot> view;
  const rocksdb::Status status = ReadOnlySnapshot::Open(
      directory, column_family.empty() ? rocksdb::kDefaultColumnFamilyName : column_family, &view);
  if (!status.ok()) return absl::FailedPreconditionError(MessageOf(status));
  RowsSnapshot snapshot;
  view->db()->GetDbIdentity(snapshot.database).PermitUncheckedError();  // only for messages
  snapshot.open = [view = std::shared_ptr<ReadOnlySnapshot>(std::move(view)), attribute,
                   sort](const Cancellation* cancellation) {
    return OpenDatabase(view->db(), view->column_family(), rocksdb::ReadOptions(), KeyInterval(),
                        attribute, sort, cancellation);
  };
  return snapshot;
}

}  // namespace rocksieve::join
