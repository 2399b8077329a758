#include "join/row_batch.h"

#include <algorithm>

#include "format/byte_io.h"
#include "join/compression.h"
#include "join/key_list.h"

namespace rocksieve::join {

//   varint 2 * value bytes + 1 if the key is a new one
//   with keys, and a new one: varint bytes shared with the key before | varint more bytes | these
//   the value
void RowBatchWriter::Add(const Row& row) {
  const bool new_key = !any_ || row.key != last_key_;
  ByteWriter out(&raw_);
  out.Varint(2 * row.value.size() + (new_key ? 1 : 0));
  if (new_key) {
    const auto differs =
        std::mismatch(row.key.begin(), row.key.end(), last_key_.begin(), last_key_.end());
    const auto shared = static_cast<size_t>(differs.first - row.key.begin());
    if (with_keys_) {
      out.Varint(shared);
      out.String(row.key.substr(shared));
    }
    last_key_.resize(shared);
    last_key_.append(row.key.substr(shared));
  }
  any_ = true;
  out.Bytes(row.value);
}

void RowBatchWriter::Finish(std::string* out) {
  AppendCompressed(raw_, out);
  raw_.clear();
}

absl::Status RowBatchReader::Read(
    std::string_view batch, uint64_t most_raw_bytes,
    const std::function<absl::Status(const Row& row, bool new_key)>& visit) {
  std::string raw;
  if (!Uncompress(batch, most_raw_bytes, &raw)) {
    return absl::InvalidArgumentError("the other side sent rows that cannot be unpacked");
  }
  ByteReader in(raw);
  while (in.remaining() > 0) {
    const uint64_t head = in.Varint();
    const bool new_key = head % 2 != 0;
    if (new_key && with_keys_) {
      const uint64_t shared = in.Varint(last_key_.size());
      const std::string_view rest = in.String(kMostKeyBytes);
      if (in.ok()) {
        last_key_.resize(shared);
        last_key_.append(rest);
      }
    }
    const std::string_view value = in.Bytes(head / 2);
    if (!in.ok() || (!any_ && !new_key)) {
      return absl::InvalidArgumentError("the other side sent damaged rows");
    }
    any_ = true;
    const absl::Status status = visit({last_key_, value}, new_key);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
