// SPDX-License-Identifier: Apache-2.0
// A whole row in the value of another one, whose key is the join key of it:
//
//   varint length of the key | key | value
#pragma once

#include <string>
#include <string_view>

#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

// Replaces *packed.
void PackRow(const Row& row, std::string* packed);

// The views point into `packed`. False if it is no packed row.
bool UnpackRow(std::string_view packed, Row* row);

// Gives on whole rows, where a join was on an expression and rows came packed.
class UnpackingSink final : public Sink {
 public:
  // Which side's rows come packed: that which is joined on an expression. `sink` must outlive it.
  UnpackingSink(Sink* sink, bool client, bool server)
      : sink_(sink), client_(client), server_(server) {}

  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return sink_->Commit(); }
  absl::Status Discard() override { return sink_->Discard(); }

 private:
  Sink* const sink_;
  const bool client_, server_;
};

}  // namespace rocksieve::join
