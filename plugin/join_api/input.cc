// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/join/input.h>

#include <algorithm>
#include <utility>

#include <rocksdb/comparator.h>
#include <rocksdb/snapshot.h>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/text/text_rows.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/join/rocksdb_source.h"
#include "plugin/join/sst_file.h"
#include "plugin/join/status.h"
#include "plugin/join_api/join_impl.h"
#include "plugin/join_api/unshared_comparison.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

bool IsOfWholeRows(const JoinKeyExpression& expression) {
  return expression.is_whole_row() || expression.is_key_of_whole_row();
}

// Rows by their join keys, sorted anew. May take its time, unless it is cancelled.
absl::StatusOr<std::shared_ptr<Source>> SortedByJoinKey(std::unique_ptr<Source> rows,
                                                        const JoinKeyExpression& expression,
                                                        const SortOptions& sort,
                                                        const Cancellation* cancellation) {
  const Cancellation never;
  if (cancellation == nullptr) cancellation = &never;
  CancellableSource cancellable(rows.get(), cancellation);
  SortOptions until_cancelled = sort;
  until_cancelled.check = [cancellation] { return cancellation->Check(); };
  if (!IsOfWholeRows(expression)) {
    return JoinKeySource::Sort(&cancellable, expression, until_cancelled);
  }
  // As WholeRowSource gives them, or by their keys: all have a join key.
  RowSorter sorter(until_cancelled);
  const std::unique_ptr<Cursor> cursor = cancellable.Scan({});
  Row row;
  std::string join_key;
  while (cursor->Next(&row)) {
    expression.Extract(row, &join_key);
    RETURN_IF_ERROR(sorter.Add({join_key, expression.gives_values() ? row.value : ""}));
  }
  if (!cursor->status().ok()) return cursor->status();
  return sorter.Finish();
}

// The same, without sorting where rows that come in the order of their keys come in that of their
// join keys.
absl::StatusOr<std::shared_ptr<Source>> ByJoinKey(std::unique_ptr<Source> rows,
                                                  const JoinKeyExpression& expression,
                                                  const SortOptions& sort,
                                                  const Cancellation* cancellation) {
  if (expression.is_whole_key() || expression.is_key_of_whole_row()) return rows;
  if (expression.key_prefix_bytes() > 0) {
    return std::make_shared<KeyPrefixSource>(std::move(rows), expression.key_prefix_bytes());
  }
  if (expression.is_whole_row()) {
    return std::make_shared<WholeRowSource>(
        std::move(rows), expression.gives_values() ? WholeRowSource::Values::kGiven
                                                   : WholeRowSource::Values::kLeftOut);
  }
  return SortedByJoinKey(std::move(rows), expression, sort, cancellation);
}

RowValues ValuesFor(const JoinKeyExpression& expression) {
  return IsOfWholeRows(expression) ? RowValues::kComparable : RowValues::kPlain;
}

SortOptions SortingOf(const InputOptions& options) {
  SortOptions sort;
  sort.memory_bytes = options.sort_memory_bytes;
  sort.directory = options.temporary_directory;
  return sort;
}

// Of the caller's bounds, which need not live as long as an Input.
KeyInterval IntervalOf(const rocksdb::ReadOptions& read) {
  KeyInterval interval;
  if (read.iterate_lower_bound != nullptr) interval.begin = read.iterate_lower_bound->ToString();
  if (read.iterate_upper_bound != nullptr) interval.end = read.iterate_upper_bound->ToString();
  return interval;
}

// The rows of a file, by their join keys; `open` takes which values are to be given, and what may
// cancel it, and gives an absl::StatusOr of a unique_ptr to a source.
template <typename OpenFile>
Input::Impl::TakeSnapshot OpeningFile(OpenFile open, const SortOptions& sort) {
  return [=](const JoinKeyExpression& expression) -> RowsSnapshot {  // files do not change
    return {[=](const Cancellation* cancellation) -> absl::StatusOr<std::shared_ptr<Source>> {
      ASSIGN_OR_RETURN(auto rows, open(ValuesFor(expression), cancellation));
      return ByJoinKey(std::move(rows), expression, sort, cancellation);
    }};
  };
}

rocksdb::Status Make(const InputOptions& options, Input::Impl::TakeSnapshot take_snapshot,
                     std::optional<DirectoryOfRows> directory,
                     std::shared_ptr<const Input::Impl>* impl) {
  const absl::StatusOr<JoinKeyExpression> expression =
      JoinKeyExpressionOf(options.on, options.extractors);
  if (!expression.ok()) return ToRocksDb(expression.status());
  *impl = std::make_shared<Input::Impl>(std::move(take_snapshot), *expression,
                                        std::move(directory));
  return rocksdb::Status::OK();
}

}  // namespace

absl::StatusOr<JoinKeyExpression> JoinKeyExpressionOf(const std::string& on,
                                                      const Extractors& extractors) {
  if (on.empty()) return JoinKeyExpression();
  NamedExtractors named;
  for (const auto& [name, extract] : extractors) {
    named[name] = [extract = extract](const Row& row, std::string* join_key) {
      return extract(row.key, row.value, join_key);
    };
  }
  return JoinKeyExpression::Parse(on, named);
}

bool KeepsOrder(const JoinKeyExpression& expression) {
  return expression.is_whole_key() || IsOfWholeRows(expression) ||
         expression.key_prefix_bytes() > 0;
}

bool IsExpression(const std::string& on) { return !on.empty() && on != "key"; }

absl::StatusOr<std::shared_ptr<Source>> OpenDatabase(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const rocksdb::ReadOptions& read,
    const KeyInterval& interval, const JoinKeyExpression& expression, const SortOptions& sort,
    const Cancellation* cancellation) {
  RocksDbSourceOptions options;
  options.interval = interval;
  options.snapshot = read.snapshot;
  options.verify_checksums = read.verify_checksums;
  options.rate_limiter_priority = read.rate_limiter_priority;
  if (read.readahead_size > 0) options.readahead_bytes = read.readahead_size;
  options.values = ValuesFor(expression);
  const bool sorted_anew =
      !KeepsOrder(expression) ||
      (!expression.is_whole_key() && family->GetComparator() != rocksdb::BytewiseComparator());
  options.any_order = sorted_anew && interval.begin.empty() && !interval.end;
  ASSIGN_OR_RETURN(std::unique_ptr<RocksDbSource> rows, RocksDbSource::Open(db, family, options));
  return options.any_order ? SortedByJoinKey(std::move(rows), expression, sort, cancellation)
                           : ByJoinKey(std::move(rows), expression, sort, cancellation);
}

OpenRows RowsOf(std::shared_ptr<const ReadOnlySnapshot> state, const JoinKeyExpression& expression,
                const SortOptions& sort, const RateLimiterPtr& rate_limiter) {
  return [state = std::move(state), expression, sort,
          rate_limiter](const Cancellation* cancellation) {
    rocksdb::ReadOptions read;
    read.rate_limiter_priority = rocksdb::Env::IO_LOW;
    if (rate_limiter != nullptr) {
      // Whoever waits for what was read ahead hears of no interruption.
      constexpr int64_t kLeast = 16 << 10, kMost = 1 << 20;
      read.readahead_size =
          static_cast<size_t>(std::clamp(rate_limiter->GetBytesPerSecond() / 10, kLeast, kMost));
    }
    return OpenDatabase(state->db(), state->column_family(), read, KeyInterval(), expression, sort,
                        cancellation);
  };
}

absl::StatusOr<RowsSnapshot> SnapshotOfDirectory(const DirectoryOfRows& rows,
                                                 const JoinKeyExpression& expression,
                                                 const SortOptions& sort,
                                                 const KeepingStates& keeping) {
  std::unique_ptr<ReadOnlySnapshot> before, now;
  RowsSnapshot snapshot;
  rocksdb::Status status;
  if (!keeping.since.empty()) {
    status = keeping.states->Open(keeping.since, rows.family(), rows.rate_limiter, &before);
    if (!status.ok()) return absl::NotFoundError(MessageOf(status));
  }
  status = keeping.keep
               ? keeping.states->OpenAndKeep(rows.directory, rows.family(), rows.rate_limiter, &now,
                                             &snapshot.kept)
               : ReadOnlySnapshot::Open(rows.directory, rows.family(), &now, rows.rate_limiter);
  if (!status.ok()) return absl::FailedPreconditionError(MessageOf(status));
  now->db()->GetDbIdentity(snapshot.database).PermitUncheckedError();  // only for messages
  snapshot.family = {now->column_family()->GetName(), now->column_family()->GetComparator()->Name(),
                     now->MergeOperatorName()};
  snapshot.files = std::move(now);
  if (before == nullptr) {
    snapshot.open = RowsOf(snapshot.files, expression, sort, rows.rate_limiter);
  } else {
    snapshot.open =
        [before = std::shared_ptr<const ReadOnlySnapshot>(std::move(before)), now = snapshot.files,
         values = expression.gives_values(),
         sort](const Cancellation* cancellation) -> absl::StatusOr<std::shared_ptr<Source>> {
      ASSIGN_OR_RETURN(ChangedRows found,
                       FindChangedRows(*before, *now, values, sort, cancellation));
      return std::move(found.rows);
    };
  }
  return snapshot;
}

absl::StatusOr<OpenedInput> Input::Impl::OpenSources(size_t count,
                                                     const Cancellation* cancellation) const {
  ASSIGN_OR_RETURN(RowsSnapshot frozen, take_snapshot_(expression_));
  OpenedInput opened;
  opened.rows = std::move(frozen);
  while (opened.sources.size() < count) {
    // Sorted rows do not change any more, and may be scanned by several threads.
    if (!KeepsOrder(expression_) && !opened.sources.empty()) {
      opened.sources.push_back(opened.sources.front());
      continue;
    }
    ASSIGN_OR_RETURN(std::shared_ptr<Source> source, opened.rows.open(cancellation));
    opened.sources.push_back(std::move(source));
  }
  return opened;
}

Input::Input() = default;
Input::~Input() = default;
Input::Input(const Input&) = default;
Input& Input::operator=(const Input&) = default;

rocksdb::Status Input::OfDatabase(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                                  const rocksdb::ReadOptions& read, const InputOptions& options,
                                  Input* input) {
  if (db == nullptr)
    return rocksdb::Status::InvalidArgument("a join needs a database that is open");
  if (family == nullptr) family = db->DefaultColumnFamily();
  const auto take_snapshot =
      [db, family, read, interval = IntervalOf(read),
       sort = SortingOf(options)](const JoinKeyExpression& on) -> absl::StatusOr<RowsSnapshot> {
    std::shared_ptr<rocksdb::ManagedSnapshot> own;
    rocksdb::ReadOptions frozen = read;
    if (frozen.snapshot == nullptr) {
      own = std::make_shared<rocksdb::ManagedSnapshot>(db);
      frozen.snapshot = own->snapshot();
    }
    return RowsSnapshot{[=](const Cancellation* cancellation) {
      static_cast<void>(own);  // held as long as this is
      return OpenDatabase(db, family, frozen, interval, on, sort, cancellation);
    }};
  };
  return Make(options, take_snapshot, {}, &input->impl_);
}

rocksdb::Status Input::OfDirectory(const std::string& directory, const std::string& column_family,
                                   const InputOptions& options, Input* input) {
  const DirectoryOfRows rows{directory, column_family, options.rate_limiter};
  const auto take_snapshot = [rows, sort = SortingOf(options)](const JoinKeyExpression& on) {
    return SnapshotOfDirectory(rows, on, sort);
  };
  return Make(options, take_snapshot, rows, &input->impl_);
}

rocksdb::Status Input::OfSst(const std::string& path, const rocksdb::Options& rocksdb_options,
                             const InputOptions& options, Input* input) {
  const auto open = [path, rocksdb_options](RowValues values, const Cancellation*) {
    return SstSource::Open(path, rocksdb_options, values);
  };
  return Make(options, OpeningFile(open, SortingOf(options)), {}, &input->impl_);
}

rocksdb::Status Input::OfSortedText(const std::string& path, const InputOptions& options,
                                    Input* input) {
  const auto take_snapshot = [path, sort = SortingOf(options)](const JoinKeyExpression& on) {
    // Sorted anew, it is one for all servers, as other rows that are sorted.
    const auto sorted = std::make_shared<std::shared_ptr<Source>>();
    return RowsSnapshot{
        [=](const Cancellation* cancellation) -> absl::StatusOr<std::shared_ptr<Source>> {
          if (*sorted != nullptr) return *sorted;
          const auto check = [cancellation] {
            return cancellation == nullptr ? absl::OkStatus() : cancellation->Check();
          };
          ASSIGN_OR_RETURN(std::unique_ptr<SortedTextSource> rows,
                           SortedTextSource::Open(path, check));
          if (!on.is_whole_row() || rows->keys_are_unique()) {
            return ByJoinKey(std::move(rows), on, sort, cancellation);
          }
          // Lines of a key come in any order of their values' digests.
          ASSIGN_OR_RETURN(*sorted, SortedByJoinKey(std::move(rows), on, sort, cancellation));
          return *sorted;
        }};
  };
  return Make(options, take_snapshot, {}, &input->impl_);
}

}  // namespace rocksieve::join
