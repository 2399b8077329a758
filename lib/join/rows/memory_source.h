// A source of rows in memory, for tests and small sets.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

class MemorySource final : public Source {
 public:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  // In any order. Equal keys keep theirs.
  explicit MemorySource(Rows rows);

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  uint64_t EstimateKeys() override { return rows_.size(); }

 private:
  Rows rows_;
};

}  // namespace rocksieve::join
