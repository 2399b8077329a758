#include "lib/join/existing/existing_filter_stream.h"

#include <algorithm>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/join/rows/key_list.h"

namespace rocksieve::join {
namespace {

absl::Status Damaged() {
  return absl::InvalidArgumentError("the other side sent filters that cannot be taken apart");
}

}  // namespace

std::string FrontOf(const ExistingFilter& filter) {
  std::string front;
  ByteWriter out(&front);
  out.U8(static_cast<uint8_t>(filter.format));
  out.String(filter.smallest);
  out.String(filter.largest);
  return front;
}

void AppendExistingFilter(const ExistingFilter& filter, std::string* out) {
  const std::string front = FrontOf(filter);
  ByteWriter writer(out);
  writer.Varint(front.size() + filter.block.size());
  writer.Bytes(front);
  writer.Bytes(filter.block);
}

absl::Status ExistingFilterAssembler::Hold(uint64_t more_bytes) {
  return memory_->Resize(set_->bytes() + buffer_.capacity() + more_bytes, "filters of SST files");
}

absl::Status ExistingFilterAssembler::Add(std::string_view piece) {
  // A buffer that grows doubles.
  const absl::Status room = Hold(2 * (buffer_.size() + piece.size()));
  if (!room.ok()) return room;
  buffer_.append(piece);
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    ByteReader in(rest);
    const uint64_t bytes = in.Varint();
    if (!in.ok()) {
      if (rest.size() >= kMaxVarintBytes) return Damaged();
      break;  // the length itself is cut
    }
    if (bytes > most_bytes_ || set_->bytes() > most_bytes_ - bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the other side sends filters of more than the ", most_bytes_,
                       " bytes that this side said it takes"));
    }
    if (in.remaining() < bytes) break;
    const absl::Status status = AddFilter(in.Bytes(bytes));
    if (!status.ok()) return status;
    rest = in.Peek();
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return Hold(0);
}

absl::Status ExistingFilterAssembler::AddFilter(std::string_view bytes) {
  ByteReader in(bytes);
  ExistingFilter filter;
  filter.format = static_cast<FilterFormat>(in.U8());
  // The filter, beside its bytes.
  const absl::Status room = Hold(bytes.size() + ExistingFilterSet::BytesOf(filter));
  if (!room.ok()) return room;
  filter.smallest = in.String(kMostKeyBytes);
  filter.largest = in.String(kMostKeyBytes);
  filter.block = in.Rest();
  return in.ok() && set_->Add(std::move(filter)) ? absl::OkStatus() : Damaged();
}

}  // namespace rocksieve::join
