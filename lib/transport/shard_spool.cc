#include "lib/transport/shard_spool.h"

#include <algorithm>

#include "lib/format/byte_io.h"
#include "lib/join/rows/packed_row.h"

namespace rocksieve::join {
namespace {

constexpr size_t kHeadBytes = 9;  // side, bytes of the packed row
constexpr size_t kBufferBytes = 256 << 10;

struct Shard {
  ShardSpool* spool;
  bool any = false;
  std::string key;
  Row row;
  Side from = Side::kAsking;

  absl::Status Advance() {
    absl::StatusOr<bool> next = spool->Next(&row, &from);
    if (!next.ok()) return next.status();
    any = *next;
    if (any) key = row.key;
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<ShardSpool>> ShardSpool::Create() {
  absl::StatusOr<std::unique_ptr<TemporaryFile>> file = TemporaryFile::Create("");
  if (!file.ok()) return file.status();
  return std::unique_ptr<ShardSpool>(new ShardSpool(*std::move(file)));
}

absl::Status ShardSpool::Commit() {
  std::string packed;
  const absl::Status status = pending_.Visit([&](const Row& row, Side from) {
    PackRow(row, &packed);
    ByteWriter out(&buffer_);
    out.U8(static_cast<uint8_t>(from));
    out.U64(packed.size());
    out.Bytes(packed);
    return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
  });
  if (!status.ok()) return status;
  const absl::Status flushed = Flush();
  return flushed.ok() ? pending_.Clear() : flushed;
}

absl::Status ShardSpool::Flush() {
  const absl::Status status = file_->Append(buffer_);
  buffer_.clear();
  return status;
}

absl::Status ShardSpool::Restart() {
  const absl::Status status = pending_.Clear();
  return status.ok() ? file_->Clear() : status;
}

absl::Status ShardSpool::Need(size_t bytes) {
  if (buffer_.size() - taken_ >= bytes) return absl::OkStatus();
  buffer_.erase(0, taken_);
  taken_ = 0;
  const size_t had = buffer_.size();
  const uint64_t rest = file_->bytes() - read_;
  const uint64_t more = std::min<uint64_t>(rest, std::max(bytes - had, kBufferBytes));
  buffer_.resize(had + more);
  const absl::Status status = file_->Read(read_, more, buffer_.data() + had);
  read_ += more;
  return status;
}

absl::StatusOr<bool> ShardSpool::Next(Row* row, Side* from) {
  absl::Status status = Need(kHeadBytes);
  if (!status.ok()) return status;
  if (taken_ == buffer_.size()) return false;
  ByteReader head(std::string_view(buffer_).substr(taken_, kHeadBytes));
  *from = static_cast<Side>(head.U8());
  const uint64_t bytes = head.U64();
  status = Need(kHeadBytes + bytes);
  if (!status.ok()) return status;
  const std::string_view packed = std::string_view(buffer_).substr(taken_ + kHeadBytes, bytes);
  taken_ += kHeadBytes + bytes;
  if (!UnpackRow(packed, row)) {
    return absl::DataLossError(
        "a temporary file is not what was written to it: is the disk broken?");
  }
  return true;
}

absl::Status MergeShards(const std::vector<std::unique_ptr<ShardSpool>>& spools, Sink* sink) {
  std::vector<Shard> shards;
  for (const auto& spool : spools) {
    shards.push_back({spool.get(), false, "", {}, Side::kAsking});
    const absl::Status status = shards.back().Advance();
    if (!status.ok()) return status;
  }
  for (;;) {
    const Shard* first = nullptr;
    for (const Shard& shard : shards) {
      if (shard.any && (first == nullptr || shard.key < first->key)) first = &shard;
    }
    if (first == nullptr) return sink->Commit();
    const std::string key = first->key;
    size_t lacking = 0;  // shards that lack the key
    std::vector<std::string> own_values;
    for (Shard& shard : shards) {
      bool lacks = false;
      while (shard.any && shard.key == key) {
        if (shard.from == Side::kAnswering) {
          const absl::Status status = sink->Add(shard.row, shard.from);
          if (!status.ok()) return status;
        } else {
          lacks = true;
          if (lacking == 0 && &shard == &shards.front()) own_values.emplace_back(shard.row.value);
        }
        const absl::Status status = shard.Advance();
        if (!status.ok()) return status;
      }
      lacking += lacks;
    }
    if (lacking < shards.size()) continue;
    for (const std::string& value : own_values) {
      const absl::Status status = sink->Add({key, value}, Side::kAsking);
      if (!status.ok()) return status;
    }
  }
}

}  // namespace rocksieve::join
