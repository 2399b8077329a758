#include "join/spool.h"

#include <algorithm>

#include "format/byte_io.h"
#include "join/packed_row.h"

namespace rocksieve::tools {
namespace {

using join::Row;
using join::Side;

constexpr size_t kHeadBytes = 9;  // side, bytes of the packed row

struct Shard {
  Spool* spool;
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

absl::StatusOr<std::unique_ptr<Spool>> Spool::Create() {
  absl::StatusOr<std::unique_ptr<OutputFile>> file = OutputFile::Open("");
  if (!file.ok()) return file.status();
  return std::unique_ptr<Spool>(new Spool(*std::move(file)));
}

absl::Status Spool::Add(const Row& row, Side from) {
  join::PackRow(row, &record_);
  std::string head;
  ByteWriter out(&head);
  out.U8(static_cast<uint8_t>(from));
  out.U64(record_.size());
  const absl::Status status = file_->Append(head);
  return status.ok() ? file_->Append(record_) : status;
}

absl::Status Spool::Rewind() {
  absl::StatusOr<std::FILE*> stream = file_->Rewind();
  if (!stream.ok()) return stream.status();
  stream_ = *stream;
  return absl::OkStatus();
}

absl::StatusOr<bool> Spool::Next(Row* row, Side* from) {
  char head[kHeadBytes];
  const size_t bytes = std::fread(head, 1, sizeof(head), stream_);
  if (bytes == 0 && std::feof(stream_) != 0) return false;
  ByteReader in(std::string_view(head, bytes));
  *from = static_cast<Side>(in.U8());
  record_.resize(in.U64());
  if (!in.ok() || std::fread(record_.data(), 1, record_.size(), stream_) != record_.size() ||
      !join::UnpackRow(record_, row)) {
    return absl::DataLossError("cannot read a temporary file again: is the disk full or broken?");
  }
  return true;
}

absl::Status MergeShards(const std::vector<std::unique_ptr<Spool>>& spools, join::Sink* sink) {
  std::vector<Shard> shards;
  for (const auto& spool : spools) {
    shards.push_back({spool.get(), false, "", {}, Side::kAsking});
    absl::Status status = spool->Rewind();
    if (status.ok()) status = shards.back().Advance();
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

}  // namespace rocksieve::tools
