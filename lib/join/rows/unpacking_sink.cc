#include "lib/join/rows/unpacking_sink.h"

#include "lib/join/rows/packed_row.h"

namespace rocksieve::join {

absl::Status UnpackingSink::Add(const Row& row, Side from) {
  if (!(from == Side::kAsking ? asking_ : answering_)) return sink_->Add(row, from);
  Row whole;
  if (!UnpackRow(row.value, &whole)) {
    return absl::InvalidArgumentError(
        "the other side sent a row without its key: it does not join on an attribute as it was "
        "asked to");
  }
  return sink_->Add(whole, from);
}

}  // namespace rocksieve::join
