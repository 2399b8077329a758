// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/local_look.h"

#include <chrono>
#include <memory>
#include <utility>

#include "plugin/join_api/join_to.h"
#include "plugin/join_api/local_comparison.h"
#include "plugin/join_api/unshared_comparison.h"

namespace rocksieve::join {
namespace {

void Count(uint64_t local_rows, uint64_t remote_rows, uint64_t equal_rows, JoinReport* report) {
  report->matched_keys = equal_rows;
  report->local_only_keys = local_rows - equal_rows;
  report->remote_only_keys = remote_rows - equal_rows;
}

// Null if all has to be read.
std::unique_ptr<UnsharedComparison> OpenUnshared(const FrozenRows& local,
                                                 const FrozenRows& remote) {
  if (local.files == nullptr || remote.files == nullptr) return nullptr;
  return UnsharedComparison::Open(*local.files, *remote.files);
}

}  // namespace

absl::Status LookHere(const Input& local, const Input& remote, const Look& look, ResultSink* rows,
                      JoinReport* report) {
  const Cancellation::Clock::time_point begin = Cancellation::Clock::now();
  const JoinOptions& options = look.options;
  return UntilCancelled(options, [&](Cancellation* cancellation) {
    absl::StatusOr<OpenedInput> mine = local.impl()->OpenSources(1, cancellation);
    if (!mine.ok()) return mine.status();
    absl::StatusOr<OpenedInput> theirs = remote.impl()->OpenSources(1, cancellation);
    if (!theirs.ok()) return theirs.status();
    CancellableSource left(mine->sources.front().get(), cancellation);
    CancellableSource right(theirs->sources.front().get(), cancellation);
    uint64_t equal_rows = 0;  // that were told of
    const auto tell = [&](uint64_t local_rows, uint64_t equal_so_far) {
      RangeSummary range;
      range.local_keys = local_rows;
      range.matched_keys = equal_so_far - std::exchange(equal_rows, equal_so_far);
      if (options.range_done) options.range_done(range);
      return range;
    };
    absl::Status status;
    const auto unshared = look.shared ? OpenUnshared(mine->rows, theirs->rows) : nullptr;
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
