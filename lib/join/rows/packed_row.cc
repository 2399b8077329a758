// SPDX-License-Identifier: Apache-2.0
#include "lib/join/rows/packed_row.h"

#include "lib/format/byte_io.h"

namespace rocksieve::join {

void PackRow(const Row& row, std::string* packed) {
  packed->clear();
  ByteWriter out(packed);
  out.String(row.key);
  out.Bytes(row.value);
}

bool UnpackRow(std::string_view packed, Row* row) {
  ByteReader in(packed);
  row->key = in.String();
  row->value = in.Rest();
  return in.ok();
}

absl::Status UnpackingSink::Add(const Row& row, Side from) {
  if (!(from == Side::kClient ? client_ : server_)) return sink_->Add(row, from);
  Row whole;
  if (!UnpackRow(row.value, &whole)) {
    return absl::InvalidArgumentError(
        "the other side sent a row without its key: it does not join on an expression as it was "
        "asked to");
  }
  return sink_->Add(whole, from);
}

}  // namespace rocksieve::join
