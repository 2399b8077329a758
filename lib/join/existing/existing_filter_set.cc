// SPDX-License-Identifier: Apache-2.0
#include "lib/join/existing/existing_filter_set.h"

#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/join/rows/key_list.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerMember = 256;  // beside its keys and its block
// More filters within whose fences one key lies than any tree has runs: from there on every key may
// be there. Else a hostile side could make each key cost as much as all of its filters.
constexpr size_t kMostOpen = 512;

// All of a filter but its block: u8 format | string smallest | string largest.
std::string FrontOf(const ExistingFilter& filter) {
  std::string front;
  ByteWriter out(&front);
  out.U8(static_cast<uint8_t>(filter.format));
  out.String(filter.smallest);
  out.String(filter.largest);
  return front;
}

absl::Status Damaged() {
  return absl::InvalidArgumentError("the other side sent filters that cannot be taken apart");
}

}  // namespace

void AppendExistingFilter(const ExistingFilter& filter, std::string* out) {
  const std::string front = FrontOf(filter);
  ByteWriter writer(out);
  writer.Varint(front.size() + filter.block.size());
  writer.Bytes(front);
  writer.Bytes(filter.block);
}

bool ExistingFilterSet::Member::MayContain(std::string_view key) const {
  if (ours != nullptr) return ours->MayContain(key);
  return builtin == nullptr || builtin->MayContain(key);
}

bool ExistingFilterSet::Add(ExistingFilter filter) {
  if (filter.largest < filter.smallest || filter.smallest < covered_end()) return false;
  auto member = std::make_unique<Member>();
  member->filter = std::move(filter);
  const ExistingFilter& kept = member->filter;
  member->digest = HashKey(kept.block, HashKey(FrontOf(kept), DigestOf(size())));
  if (kept.format == FilterFormat::kOurs) {
    member->ours = OpenFilter(kept.block).filter;
  } else if (kept.format == FilterFormat::kRocksDbBuiltin && decode_builtin_) {
    member->builtin = decode_builtin_(kept.block);
  }
  bytes_ += BytesOf(kept);
  members_.push_back(std::move(member));
  return true;
}

uint64_t ExistingFilterSet::BytesOf(const ExistingFilter& filter) {
  return filter.smallest.size() + filter.largest.size() + filter.block.size() + kBytesPerMember;
}

bool ExistingFilterSet::Sweep::MayContain(std::string_view key) {
  if (crowded_) return true;
  for (; next_ < set_.members_.size() && set_.members_[next_]->filter.smallest <= key; next_++) {
    open_.push_back(set_.members_[next_].get());
  }
  bool may_contain = false;
  size_t kept = 0;
  for (const Member* member : open_) {
    if (member->filter.largest < key) continue;
    open_[kept++] = member;
    if (!may_contain) may_contain = member->MayContain(key);
  }
  open_.resize(kept);
  crowded_ = kept > kMostOpen;
  return may_contain || crowded_;
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
