// A source whose scans end with an error when the work is cancelled.
#pragma once

#include <cstdint>
#include <memory>

#include "join/source.h"
#include "transport/cancellation.h"

namespace rocksieve::join {

class CancellableSource final : public Source {
 public:
  // Both must outlive it and its cursors.
  CancellableSource(Source* source, const Cancellation* cancellation)
      : source_(source), cancellation_(cancellation) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  std::unique_ptr<Cursor> ScanAbsent() override;
  uint64_t EstimateKeys() override { return source_->EstimateKeys(); }
  std::unique_ptr<ReadyFilterReader> ReadyFilters(const KeyInterval& interval) override {
    return source_->ReadyFilters(interval);
  }

 private:
  Source* const source_;
  const Cancellation* const cancellation_;
};

}  // namespace rocksieve::join
