// Gives on whole rows, where a join was on an attribute and rows came packed (packed_row.h).
#pragma once

#include "lib/join/rows/sink.h"

namespace rocksieve::join {

class UnpackingSink final : public Sink {
 public:
  // Which side's rows come packed: that which is joined on an attribute. `sink` must outlive it.
  UnpackingSink(Sink* sink, bool asking, bool answering)
      : sink_(sink), asking_(asking), answering_(answering) {}

  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return sink_->Commit(); }
  absl::Status Discard() override { return sink_->Discard(); }

 private:
  Sink* const sink_;
  const bool asking_, answering_;
};

}  // namespace rocksieve::join
