// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/local_look.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "lib/join/join_key/join_key_source.h"
#include "plugin/join_api/join_impl.h"
#include "plugin/join_api/unshared_comparison.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

// So that a comparison that is held back by a limit tells often enough how far it is.
constexpr uint64_t kRowsBetweenReports = 1 << 13, kBytesBetweenReports = 1 << 20;

// A cursor's row, until it moves on.
class Reader {
 public:
  Reader(Source* source, const KeyInterval& part) : cursor_(source->Scan(part)) {}

  // Also before the first row. A side that ends by an error has not ended: what the other one has
  // from there on is no difference.
  absl::Status Next() {
    any_ = cursor_->Next(&row_);
    return any_ ? absl::OkStatus() : cursor_->status();
  }
  bool any() const { return any_; }
  const Row& row() const { return row_; }

 private:
  const std::unique_ptr<Cursor> cursor_;
  Row row_;
  bool any_ = false;
};

}  // namespace

absl::Status LocalComparison::Run(Source* local, Source* remote,
                                  const std::vector<KeyInterval>& parts, Sink* sink) {
  uint64_t unreported = 0, rows_read = 0, bytes_read = 0;
  std::string join_key;
  const auto add = [&](const Row& row, Side side) {
    WholeRowJoinKey(row, &join_key);
    return sink->Add({join_key, row.value}, side);
  };
  const auto report = [&](const std::optional<std::string>& next_key) {
    const absl::Status status = sink->Commit();
    const uint64_t rows = std::exchange(unreported, 0);
    rows_read = bytes_read = 0;
    return status.ok() && progress ? progress(rows, next_key) : status;
  };
  const auto count = [&](const Row& row) {
    rows_read++;
    bytes_read += row.key.size() + row.value.size();
  };
  for (const KeyInterval& part : parts) {
    Reader mine(local, part), theirs(remote, part);
    absl::Status status = mine.Next();
    if (status.ok()) status = theirs.Next();
    if (!status.ok()) return status;
    while (mine.any() || theirs.any()) {
      const int order = !mine.any()     ? 1
                        : !theirs.any() ? -1
                                        : mine.row().key.compare(theirs.row().key);
      const bool equal = order == 0 && mine.row().value == theirs.row().value;
      if (order <= 0) {
        if (!equal) status = add(mine.row(), Side::kClient);
        local_rows++;
        unreported++;
        count(mine.row());
      }
      if (status.ok() && order >= 0) {
        if (!equal) status = add(theirs.row(), Side::kServer);
        remote_rows++;
        count(theirs.row());
      }
      equal_rows += equal;
      if (status.ok() && (rows_read >= kRowsBetweenReports || bytes_read >= kBytesBetweenReports)) {
        status = report(std::string(order <= 0 ? mine.row().key : theirs.row().key) + '\0');
      }
      if (!status.ok()) return status;
      if (order <= 0) status = mine.Next();
      if (status.ok() && order >= 0) status = theirs.Next();
      if (!status.ok()) return status;
    }
  }
  return report(std::nullopt);
}

namespace {

void Count(uint64_t local_rows, uint64_t remote_rows, uint64_t equal_rows, JoinReport* report) {
  report->matched_keys = equal_rows;
  report->local_only_keys = local_rows - equal_rows;
  report->remote_only_keys = remote_rows - equal_rows;
}

// Null if all has to be read.
std::unique_ptr<UnsharedComparison> OpenUnshared(const RowsSnapshot& local,
                                                 const RowsSnapshot& remote) {
  if (local.files == nullptr || remote.files == nullptr) return nullptr;
  return UnsharedComparison::Open(*local.files, *remote.files);
}

}  // namespace

absl::Status LookHere(const Input& local, const Input& remote, const Look& look, ResultSink* rows,
                      JoinReport* report) {
  const Cancellation::Clock::time_point begin = Cancellation::Clock::now();
  const JoinOptions& options = look.options;
  return UntilCancelled(options, [&](Cancellation* cancellation) {
    ASSIGN_OR_RETURN(OpenedInput mine, local.impl()->OpenSources(1, cancellation));
    ASSIGN_OR_RETURN(OpenedInput theirs, remote.impl()->OpenSources(1, cancellation));
    CancellableSource left(mine.sources.front().get(), cancellation);
    CancellableSource right(theirs.sources.front().get(), cancellation);
    uint64_t equal_rows = 0;  // that were told of
    const auto tell = [&](uint64_t local_rows, uint64_t equal_so_far) {
      RangeSummary range;
      range.local_keys = local_rows;
      range.matched_keys = equal_so_far - std::exchange(equal_rows, equal_so_far);
      if (options.range_done) options.range_done(range);
      return range;
    };
    absl::Status status;
    const auto unshared = look.shared ? OpenUnshared(mine.rows, theirs.rows) : nullptr;
    if (unshared != nullptr) {
      if (options.keys_expected) options.keys_expected(unshared->entries());
      unshared->progress = [&](uint64_t entries) { tell(entries, unshared->equal_rows()); };
      status = unshared->Run(&left, &right, *cancellation, rows);
      Count(unshared->local_rows(), unshared->remote_rows(), unshared->equal_rows(), report);
      look.shared->files = unshared->shared_files();
      look.shared->bytes = unshared->shared_bytes();
    } else {
      if (options.keys_expected) options.keys_expected(left.EstimateKeys());
      LocalComparison comparison;
      comparison.progress = [&](uint64_t local_rows, const std::optional<std::string>& next_key) {
        const RangeSummary range = tell(local_rows, comparison.equal_rows);
        return look.proven && next_key ? look.proven(*next_key, range) : absl::OkStatus();
      };
      status = comparison.Run(&left, &right, look.parts, rows);
      Count(comparison.local_rows, comparison.remote_rows, comparison.equal_rows, report);
    }
    report->seconds = std::chrono::duration<double>(Cancellation::Clock::now() - begin).count();
    return status;
  });
}

}  // namespace rocksieve::join
