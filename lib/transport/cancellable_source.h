// A source whose scans end with an error when the work is cancelled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "join/rows/source.h"
#include "transport/cancellation.h"

namespace rocksieve::join {

class CancellableSource final : public Source {
 public:
  // Both must outlive it and its cursors. Errors of the source begin with `whose`, as in "this
  // side: ".
  CancellableSource(Source* source, const Cancellation* cancellation, std::string whose = "")
      : source_(source), cancellation_(cancellation), whose_(std::move(whose)) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  std::unique_ptr<Cursor> ScanAbsent() override;
  uint64_t EstimateKeys() override { return source_->EstimateKeys(); }
  std::unique_ptr<ReadyFilterReader> ReadyFilters(const KeyInterval& interval) override {
    return source_->ReadyFilters(interval);
  }

 private:
  Source* const source_;
  const Cancellation* const cancellation_;
  const std::string whose_;
};

}  // namespace rocksieve::join
