#include "join/frozen_source.h"

#include <utility>

#include "database/frozen_view.h"
#include "database/open_errors.h"
#include "join/attribute/attribute.h"
#include "join/attribute/attribute_source.h"
#include "join/attribute/key_prefix_source.h"
#include "join/rocksdb_source.h"
#include "transport/cancellable_source.h"

namespace rocksieve::tools {
namespace {

using join::Attribute;
using join::RocksDbSource;

// A source with what it stands on.
class HoldingSource final : public join::Source {
 public:
  // `rows` may be null.
  HoldingSource(std::shared_ptr<FrozenView> view, std::unique_ptr<join::Source> rows,
                std::unique_ptr<join::Source> source)
      : view_(std::move(view)), rows_(std::move(rows)), source_(std::move(source)) {}

  std::unique_ptr<join::Cursor> Scan(const join::KeyInterval& interval) override {
    return source_->Scan(interval);
  }
  std::unique_ptr<join::Cursor> ScanAbsent() override { return source_->ScanAbsent(); }
  uint64_t EstimateKeys() override { return source_->EstimateKeys(); }
  std::unique_ptr<join::ReadyFilterReader> ReadyFilters(
      const join::KeyInterval& interval) override {
    return source_->ReadyFilters(interval);
  }

 private:
  // In the order in which they stand on one another.
  const std::shared_ptr<FrozenView> view_;
  const std::unique_ptr<join::Source> rows_;
  const std::unique_ptr<join::Source> source_;
};

}  // namespace

absl::StatusOr<FrozenFamily> FreezeFamily(const std::string& directory,
                                          const std::string& column_family) {
  std::unique_ptr<FrozenView> view;
  const rocksdb::Status status = FrozenView::Open(directory, column_family, &view);
  if (!status.ok()) return absl::FailedPreconditionError(MessageOf(status));
  FrozenFamily family;
  view->db()->GetDbIdentity(family.database).PermitUncheckedError();  // only for messages
  family.view = std::move(view);
  return family;
}

absl::StatusOr<std::unique_ptr<join::Source>> SourceOf(const FrozenFamily& family,
                                                       const std::string& on,
                                                       join::SortOptions sort,
                                                       const join::Cancellation* cancellation) {
  absl::StatusOr<Attribute> attribute = on.empty() ? Attribute() : Attribute::Parse(on);
  if (!attribute.ok()) return attribute.status();
  join::RocksDbSourceOptions options;
  const size_t prefix_bytes = attribute->key_prefix_bytes();
  options.any_order = !attribute->is_whole_key() && prefix_bytes == 0;
  absl::StatusOr<std::unique_ptr<RocksDbSource>> rows =
      RocksDbSource::Open(family.view->db(), family.view->column_family(), options);
  if (!rows.ok()) return rows.status();
  std::unique_ptr<join::Source> source = *std::move(rows), below;
  if (prefix_bytes > 0) {
    below = std::move(source);
    source = std::make_unique<join::KeyPrefixSource>(below.get(), prefix_bytes);
  } else if (!attribute->is_whole_key()) {
    const join::Cancellation never;
    if (cancellation == nullptr) cancellation = &never;
    join::CancellableSource unsorted(source.get(), cancellation);
    sort.check = [cancellation] { return cancellation->Check(); };
    absl::StatusOr<std::unique_ptr<join::AttributeSource>> sorted =
        join::AttributeSource::Sort(&unsorted, *attribute, sort);
    if (!sorted.ok()) return sorted.status();
    source = *std::move(sorted);
  }
  return std::make_unique<HoldingSource>(family.view, std::move(below), std::move(source));
}

absl::StatusOr<std::vector<std::shared_ptr<join::Source>>> SourcesOf(
    const FrozenFamily& family, const std::string& on, const join::SortOptions& sort,
    const join::Cancellation* cancellation, size_t threads) {
  const absl::StatusOr<Attribute> attribute = on.empty() ? Attribute() : Attribute::Parse(on);
  if (!attribute.ok()) return attribute.status();
  // Sorted rows do not change any more, and may be scanned by several threads.
  const bool sorted = !attribute->is_whole_key() && attribute->key_prefix_bytes() == 0;
  std::vector<std::shared_ptr<join::Source>> sources;
  while (sources.size() < threads) {
    if (sorted && !sources.empty()) {
      sources.push_back(sources.front());
      continue;
    }
    absl::StatusOr<std::unique_ptr<join::Source>> source = SourceOf(family, on, sort, cancellation);
    if (!source.ok()) return source.status();
    sources.push_back(*std::move(source));
  }
  return sources;
}

bool IsAttribute(const std::string& on) {
  if (on.empty()) return false;
  const absl::StatusOr<Attribute> attribute = Attribute::Parse(on);
  return attribute.ok() && !attribute->is_whole_key();
}

}  // namespace rocksieve::tools
