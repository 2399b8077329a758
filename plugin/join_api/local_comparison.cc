// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/local_comparison.h"

#include <memory>
#include <string>
#include <utility>

#include "lib/join/join_key/whole_row.h"

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

}  // namespace rocksieve::join
