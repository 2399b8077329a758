// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/unshared_comparison.h"

#include <utility>

#include "lib/join/join_key/join_key_source.h"
#include "plugin/join/comparable_value.h"
#include "plugin/join/rocksdb_source.h"
#include "plugin/join/status.h"
#include "plugin/join_api/differences.h"
#include "plugin/join_api/local_look.h"
#include "plugin/unshared/state_files.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kEntriesBetweenReports = 1 << 16;
constexpr uint64_t kMostWrittenShare = 3;  // one part in so many of the database

// Whether so much is shared that the other files are worth being read by themselves. A key in them
// costs more than a row of a scan, and may have to be looked up in shared files.
bool IsWorthIt(const StateFiles& files) {
  const uint64_t others = files.first_only_bytes + files.second_only_bytes;
  return files.shared_bytes > 0 && 2 * files.shared_bytes >= others / 3;
}

// Takes what was written in place of the files that are not shared, if that is less.
void TakeWrittenFiles(const ReadOnlySnapshot& earlier, const ReadOnlySnapshot& later,
                      StateFiles* files) {
  StateFiles written = *files;
  if (!FindWrittenFiles(later.db()->GetName(), earlier, later, &written).ok()) return;
  const bool is_less =
      written.second_only_bytes < files->first_only_bytes + files->second_only_bytes;
  if (is_less) *files = std::move(written);
}

}  // namespace

UnsharedComparison::UnsharedComparison(const ReadOnlySnapshot& local,
                                       const ReadOnlySnapshot& remote)
    : local_(local.db(), local.column_family()), remote_(remote.db(), remote.column_family()) {}

std::unique_ptr<UnsharedComparison> UnsharedComparison::Open(const ReadOnlySnapshot& local,
                                                             const ReadOnlySnapshot& remote) {
  StateFiles files = CompareFiles(local, remote);
  if (!IsWorthIt(files)) return nullptr;
  return OpenFiles(local, remote, std::move(files)).value_or(nullptr);
}

absl::StatusOr<std::unique_ptr<UnsharedComparison>> UnsharedComparison::OpenChanges(
    const ReadOnlySnapshot& earlier, const ReadOnlySnapshot& later) {
  StateFiles files = CompareFiles(earlier, later), written = files;
  TakeWrittenFiles(earlier, later, &written);
  const uint64_t later_bytes = files.shared_bytes + files.second_only_bytes;
  absl::StatusOr<std::unique_ptr<UnsharedComparison>> comparison = absl::NotFoundError(
      files.shared_bytes > 0 ? "too much has changed since the state that was kept"
                             : "no table file is one of the state that was kept");
  if (written.are_written && written.second_only_bytes <= later_bytes / kMostWrittenShare) {
    comparison = OpenFiles(earlier, later, std::move(written));
  }
  // Also if a file of the journal is damaged, or was dropped meanwhile.
  if (!comparison.ok() && IsWorthIt(files)) {
    comparison = OpenFiles(earlier, later, std::move(files));
  }
  if (!comparison.ok()) return comparison;
  (*comparison)->changed_->LeaveFirstUnknown();
  (*comparison)->takes_writes_for_changes_ = true;
  return comparison;
}

absl::StatusOr<std::unique_ptr<UnsharedComparison>> UnsharedComparison::OpenFiles(
    const ReadOnlySnapshot& local, const ReadOnlySnapshot& remote, StateFiles files) {
  std::unique_ptr<UnsharedComparison> comparison(new UnsharedComparison(local, remote));
  comparison->is_of_written_files_ = files.are_written;
  comparison->shared_files_ = files.shared.size();
  comparison->shared_bytes_ = files.shared_bytes;
  rocksdb::RateLimiter* const limiter = local.db()->GetDBOptions().rate_limiter.get();
  const rocksdb::Status status =
      ChangedKeys::Open(local, remote, std::move(files), limiter, &comparison->changed_);
  if (!status.ok()) return absl::NotFoundError(MessageOf(status));
  return comparison;
}

absl::Status UnsharedComparison::Run(Source* local, Source* remote,
                                     const Cancellation& cancellation, Sink* sink) {
  uint64_t reported = 0;
  ChangedKey changed;
  while (changed_->Next(&changed)) {
    absl::Status status = Compare(changed, local, remote, sink);
    if (status.ok() && changed_->entries_read() - reported >= kEntriesBetweenReports) {
      if (progress) progress(changed_->entries_read() - reported);
      reported = changed_->entries_read();
      status = sink->Commit();
    }
    if (status.ok()) status = cancellation.Check();
    if (!status.ok()) return status;
  }
  RETURN_IF_ERROR(FromRocksDb(changed_->status(), "cannot read"));
  if (progress) progress(changed_->entries_read() - reported);
  return sink->Commit();
}

absl::Status UnsharedComparison::Compare(const ChangedKey& changed, Source* local, Source* remote,
                                         Sink* sink) {
  if (!changed.end) {
    std::optional<std::string_view> mine, theirs;
    std::string my_value, their_value;
    RETURN_IF_ERROR(Find(&remote_, changed.key, changed.second, &their_value, &theirs));
    const bool is_written = changed.second.is_known || changed.is_in_second_log;
    if (takes_writes_for_changes_ && is_written && !changed.first.is_known) {
      return Add(changed.key, theirs.value_or(""), theirs ? Side::kServer : Side::kClient, sink);
    }
    RETURN_IF_ERROR(Find(&local_, changed.key, changed.first, &my_value, &mine));
    return CompareRow(changed.key, mine, theirs, sink);
  }
  LocalComparison range;
  const KeyInterval rows{std::string(changed.key), std::string(*changed.end)};
  const absl::Status status = range.Run(local, remote, {rows}, sink);
  local_rows_ += range.local_rows;
  remote_rows_ += range.remote_rows;
  equal_rows_ += range.equal_rows;
  return status;
}

absl::Status UnsharedComparison::Find(RowLookup* rows, std::string_view key,
                                      const ChangedKey::Shown& shown, std::string* comparable,
                                      std::optional<std::string_view>* value) {
  if (!shown.is_known) return rows->Find(key, value);
  if (shown.plain_value) *value = ComparableValue(*shown.plain_value, comparable);
  return absl::OkStatus();
}

absl::Status UnsharedComparison::CompareRow(std::string_view key,
                                            std::optional<std::string_view> mine,
                                            std::optional<std::string_view> theirs, Sink* sink) {
  local_rows_ += mine.has_value();
  remote_rows_ += theirs.has_value();
  if (mine == theirs) {
    equal_rows_ += mine.has_value();
    return absl::OkStatus();
  }
  if (mine) {
    RETURN_IF_ERROR(Add(key, *mine, Side::kClient, sink));
  }
  return theirs ? Add(key, *theirs, Side::kServer, sink) : absl::OkStatus();
}

absl::Status UnsharedComparison::Add(std::string_view key, std::string_view value, Side from,
                                     Sink* sink) {
  const Row row{key, value};
  WholeRowJoinKey(row, &join_key_);
  return sink->Add({join_key_, value}, from);
}

namespace {

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
  ASSIGN_OR_RETURN(const std::unique_ptr<UnsharedComparison> comparison,
                   UnsharedComparison::OpenChanges(before, now));
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
  RETURN_IF_ERROR(comparison->Run(earlier->get(), later->get(), *cancellation, &pairs));
  RETURN_IF_ERROR(pairs.Finish());
  ASSIGN_OR_RETURN(std::unique_ptr<Source> sorted, sorter.Finish());
  return ChangedRows{std::move(sorted), comparison->is_of_written_files()};
}

}  // namespace rocksieve::join
