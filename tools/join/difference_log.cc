// SPDX-License-Identifier: Apache-2.0
#include "tools/join/difference_log.h"

#include <memory>
#include <optional>
#include <utility>

#include <absl/strings/escaping.h>
#include <rocksdb/wide_columns.h>
#include <rocksdb/write_batch.h>

#include "support/files.h"
#include "support/parallel.h"
#include "support/table.h"
#include "tools/load/target.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr size_t kBatchBytes = 1 << 20;

// Of the member, or of that with "_base64" at its end. False if it is neither, or no text.
bool BytesOf(const Json& object, const std::string& name, std::string* bytes) {
  const auto text = object.find(name), base64 = object.find(name + "_base64");
  if (text != object.end() && text->is_string()) {
    *bytes = text->get<std::string>();
    return true;
  }
  return base64 != object.end() && base64->is_string() &&
         absl::Base64Unescape(base64->get<std::string>(), bytes);
}

bool ColumnsOf(const Json& row, const std::string& side, std::optional<LoggedColumns>* columns) {
  std::string value;
  if (BytesOf(row, side + "_value", &value)) {
    columns->emplace().emplace_back("", std::move(value));
    return true;
  }
  const auto list = row.find(side + "_columns");
  if (list == row.end()) return !row.contains(side + "_value");
  if (!list->is_array()) return false;
  columns->emplace();
  for (const Json& column : *list) {
    std::string name;
    if (!column.is_object() || !BytesOf(column, "name", &name)) return false;
    if (!BytesOf(column, "value", &value)) return false;
    (*columns)->emplace_back(std::move(name), std::move(value));
  }
  return true;
}

rocksdb::WideColumns Views(const LoggedColumns& columns) {
  rocksdb::WideColumns views;
  for (const auto& [name, value] : columns) views.emplace_back(name, value);
  return views;
}

class LogApplier {
 public:
  LogApplier(Target* target, ApplyDirection direction, AppliedRows* applied)
      : target_(target), forward_(direction == ApplyDirection::kForward), applied_(applied) {}

  Status Apply(const LoggedRow& row) {
    const std::optional<LoggedColumns>& before = forward_ ? row.local : row.remote;
    const std::optional<LoggedColumns>& after = forward_ ? row.remote : row.local;
    rocksdb::ColumnFamilyHandle* const family = target_->FamilyNamed(row.column_family);
    if (family == nullptr) {
      return Status::InvalidArgument("there is no column family " + row.column_family +
                                     " in the database");
    }
    bool is_before = false, is_after = false;
    Status status = Compare(family, row.key, before, after, &is_before, &is_after);
    if (!status.ok()) return status;
    if (is_after) {
      applied_->done_before++;
    } else if (!is_before) {
      applied_->left_alone++;
    } else {
      status = Add(family, row.key, after);
    }
    return status.ok() && batch_.GetDataSize() >= kBatchBytes ? Write() : status;
  }

  Status Finish() {
    Status status = Write();
    for (rocksdb::ColumnFamilyHandle* family : target_->families()) {
      if (status.ok()) status = target_->db()->Flush(rocksdb::FlushOptions(), family);
    }
    return status;
  }

 private:
  Status Compare(rocksdb::ColumnFamilyHandle* family, const std::string& key,
                 const std::optional<LoggedColumns>& before,
                 const std::optional<LoggedColumns>& after, bool* is_before, bool* is_after) const {
    // From a row that is gone, an iterator would pass all deleted rows up to the next one. Of one
    // that is there, Get() has not all columns, and GetEntity() of RocksDB 7.8 ends the process
    // where it has merge operands.
    rocksdb::ReadOptions read;
    read.total_order_seek = true;
    rocksdb::PinnableSlice value;
    std::unique_ptr<rocksdb::Iterator> row;
    if (!target_->db()->Get(read, family, key, &value).IsNotFound()) {
      row.reset(target_->db()->NewIterator(read, family));
      row->Seek(key);
      if (!row->status().ok()) return row->status();
    }
    const bool found = row != nullptr && row->Valid() && row->key() == key;
    const auto is = [&](const std::optional<LoggedColumns>& columns) {
      return columns ? found && row->columns() == Views(*columns) : !found;
    };
    *is_before = is(before);
    *is_after = is(after);
    return Status::OK();
  }

  Status Add(rocksdb::ColumnFamilyHandle* family, const std::string& key,
             const std::optional<LoggedColumns>& after) {
    (after ? waiting_.put : waiting_.deleted)++;
    if (!after) return batch_.Delete(family, key);
    const bool is_plain = after->size() == 1 && after->front().first.empty();
    return is_plain ? batch_.Put(family, key, after->front().second)
                    : batch_.PutEntity(family, key, Views(*after));
  }

  // To the disk: what is counted is done.
  Status Write() {
    rocksdb::WriteOptions durable;
    durable.sync = true;
    const Status status = target_->db()->Write(durable, &batch_);
    batch_.Clear();
    if (!status.ok()) return status;
    applied_->put += waiting_.put;
    applied_->deleted += waiting_.deleted;
    waiting_ = {};
    return status;
  }

  Target* const target_;
  const bool forward_;
  AppliedRows* const applied_;
  rocksdb::WriteBatch batch_;
  AppliedRows waiting_;  // in the batch
};

// A changed row without a value would be taken for one that is not there.
bool HasItsSides(const Json& json, const LoggedRow& row) {
  const Json difference = json.value("difference", Json());
  return (difference == "local-only" && row.local && !row.remote) ||
         (difference == "remote-only" && row.remote && !row.local) ||
         (difference == "changed" && row.local && row.remote);
}

}  // namespace

bool LoggedRow::Read(std::string_view line, LoggedRow* row) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  *row = {};
  if (!json.is_object()) return false;
  BytesOf(json, "verdict", &row->verdict);
  return BytesOf(json, "column_family", &row->column_family) && BytesOf(json, "key", &row->key) &&
         ColumnsOf(json, "local", &row->local) && ColumnsOf(json, "remote", &row->remote) &&
         HasItsSides(json, *row);
}

Status ApplyDifferenceLog(const std::string& directory, const std::string& log,
                          ApplyDirection direction, Progress* progress, AppliedRows* applied) {
  LineReader reader(log);
  if (!reader.error().empty()) return Status::InvalidArgument(reader.error());
  TargetOptions options;
  options.directory = directory;
  options.add = true;
  options.own_logs_only = true;
  std::unique_ptr<Target> target;
  Status status = Target::Open(options, &target);
  if (!status.ok()) return status;
  progress->Begin("writing rows", reader.total_bytes(), /*units_are_bytes=*/true);
  LogApplier applier(target.get(), direction, applied);
  LoggedRow row;
  std::string_view line;
  for (uint64_t offset = 0; status.ok() && reader.Next(&line); offset = reader.offset()) {
    if (!LoggedRow::Read(line, &row)) {
      status = Status::InvalidArgument(
          reader.name() + ", line " + std::to_string(reader.line_number()) +
          ": is no row as diff --format=jsonl prints them, with both values");
    }
    if (status.ok()) status = applier.Apply(row);
    if (status.ok()) status = Advanced(progress, reader.offset() - offset);
  }
  if (status.ok() && !reader.error().empty()) {
    status = reader.interrupted() ? Status::Aborted("interrupted")
                                  : Status::InvalidArgument(reader.error());
  }
  const Status written = applier.Finish();
  return status.ok() ? written : status;
}

}  // namespace rocksieve::tools
