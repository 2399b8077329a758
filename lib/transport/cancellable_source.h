// A source whose scans end with an error when the work is cancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "lib/join/rows/source.h"
#include "lib/transport/cancellation.h"

namespace rocksieve::join {

class CancellableSource final : public Source {
 public:
  // What is told of an error of the source.
  using Tell = std::function<absl::Status(const absl::Status& status)>;

  // Both must outlive it and its cursors. `tell` may be empty.
  CancellableSource(Source* source, const Cancellation* cancellation, Tell tell = nullptr)
      : source_(source), cancellation_(cancellation), tell_(std::move(tell)) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  std::unique_ptr<Cursor> ScanAbsent() override;
  uint64_t EstimateKeys() override { return source_->EstimateKeys(); }
  std::unique_ptr<ReadyFilterReader> ReadyFilters(const KeyInterval& interval) override {
    return source_->ReadyFilters(interval);
  }

 private:
  Source* const source_;
  const Cancellation* const cancellation_;
  const Tell tell_;
};

}  // namespace rocksieve::join
