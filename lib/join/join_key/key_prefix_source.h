// The rows of another source by the first bytes of their keys, which come in order already: nothing
// needs to be sorted, and the join can begin at once.
//
// Rows are as JoinKeySource has them. Keys that are too short are NULL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

class KeyPrefixSource final : public Source {
 public:
  // `rows` must outlive it.
  KeyPrefixSource(Source* rows, size_t prefix_bytes) : rows_(rows), prefix_bytes_(prefix_bytes) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  std::unique_ptr<Cursor> ScanAbsent() override;
  // Of rows, which may be more than there are prefixes.
  uint64_t EstimateKeys() override { return rows_->EstimateKeys(); }

 private:
  Source* const rows_;
  const size_t prefix_bytes_;
};

}  // namespace rocksieve::join
