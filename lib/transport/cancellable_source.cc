#include "transport/cancellable_source.h"

#include <utility>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {
namespace {

constexpr uint32_t kRowsPerLookAtTheClock = 1024;

class CancellableCursor final : public Cursor {
 public:
  CancellableCursor(std::unique_ptr<Cursor> cursor, const Cancellation* cancellation,
                    const std::string& whose)
      : cursor_(std::move(cursor)), cancellation_(cancellation), whose_(whose) {}

  bool Next(Row* row) override {
    if (cancellation_->cancelled() || rows_++ % kRowsPerLookAtTheClock == 0) {
      if (status_.ok()) status_ = cancellation_->Check();
    }
    return status_.ok() && cursor_->Next(row);
  }
  absl::Status status() const override {
    if (!status_.ok()) return status_;
    const absl::Status status = cursor_->status();
    if (status.ok() || whose_.empty()) return status;
    return absl::Status(status.code(), absl::StrCat(whose_, status.message()));
  }

 private:
  const std::unique_ptr<Cursor> cursor_;
  const Cancellation* const cancellation_;
  const std::string whose_;
  uint32_t rows_ = 0;
  absl::Status status_;
};

}  // namespace

std::unique_ptr<Cursor> CancellableSource::Scan(const KeyInterval& interval) {
  return std::make_unique<CancellableCursor>(source_->Scan(interval), cancellation_, whose_);
}

std::unique_ptr<Cursor> CancellableSource::ScanAbsent() {
  std::unique_ptr<Cursor> cursor = source_->ScanAbsent();
  if (cursor == nullptr) return nullptr;
  return std::make_unique<CancellableCursor>(std::move(cursor), cancellation_, whose_);
}

}  // namespace rocksieve::join
