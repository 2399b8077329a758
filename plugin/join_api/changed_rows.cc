// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/changed_rows.h"

#include <functional>
#include <utility>

#include "lib/join/join_key/whole_row.h"
#include "plugin/join/comparable_value.h"
#include "plugin/join/rocksdb_source.h"
#include "plugin/join_api/difference_pairs.h"
#include "plugin/join_api/unshared_comparison.h"

namespace rocksieve::join {
namespace {

class CallingSink final : public Sink {
 public:
  explicit CallingSink(std::function<absl::Status(const Row& row, Side from)> add)
      : add_(std::move(add)) {}
  absl::Status Add(const Row& row, Side from) override { return add_(row, from); }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }

 private:
  const std::function<absl::Status(const Row& row, Side from)> add_;
};

absl::StatusOr<std::unique_ptr<RocksDbSource>> WholeRowsOf(const ReadOnlySnapshot& state) {
  RocksDbSourceOptions options;
  options.values = RowValues::kComparable;
  options.readahead_bytes = 0;  // deleted ranges may be small: RocksDB reads ahead more and more
  options.rate_limiter_priority = rocksdb::Env::IO_LOW;
  return RocksDbSource::Open(state.db(), state.column_family(), options);
}

}  // namespace

absl::StatusOr<ChangedRows> FindChangedRows(const ReadOnlySnapshot& before,
                                            const ReadOnlySnapshot& now, bool values,
                                            const SortOptions& sort,
                                            const Cancellation* cancellation) {
  const Cancellation never;
  if (cancellation == nullptr) cancellation = &never;
  SortOptions until_cancelled = sort;
  until_cancelled.check = [cancellation] { return cancellation->Check(); };
  const auto comparison = UnsharedComparison::OpenChanges(before, now);
  if (comparison == nullptr) {
    return absl::NotFoundError("too much has changed since the state that was kept");
  }
  absl::StatusOr<std::unique_ptr<RocksDbSource>> earlier = WholeRowsOf(before);
  absl::StatusOr<std::unique_ptr<RocksDbSource>> later = WholeRowsOf(now);
  if (!earlier.ok() || !later.ok()) return earlier.ok() ? later.status() : earlier.status();
  RowSorter sorter(until_cancelled);
  std::string join_key;
  DifferencePairs pairs([&](const DifferencePair& pair) {
    const Row row{pair.key, pair.remote ? pair.remote->value : kNoRow};
    WholeRowJoinKey(row, &join_key);
    return sorter.Add({join_key, values ? row.value : std::string_view()});
  });
  CallingSink sink([&](const Row& row, Side from) { return pairs.Add(row, from); });
  absl::Status status = comparison->Run(earlier->get(), later->get(), *cancellation, &sink);
  if (status.ok()) status = pairs.Finish();
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Source>> sorted = sorter.Finish();
  if (!sorted.ok()) return sorted.status();
  return ChangedRows{*std::move(sorted), comparison->is_of_written_files()};
}

}  // namespace rocksieve::join
