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

}  // namespace rocksieve::join
