// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/row_sorter.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace rocksieve::join {
namespace {

constexpr uint64_t kRowsPerCheck = 1024;

uint64_t HeadOf(std::string_view key) {
  uint64_t head = 0;
  for (size_t i = 0; i < sizeof(head); i++) {
    head = head << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return head;
}

}  // namespace

Row RowSorter::Buffer::At(size_t i) const {
  const Entry& entry = entries[i];
  const std::string_view all(bytes);
  return {all.substr(entry.offset, entry.key_bytes),
          all.substr(entry.offset + entry.key_bytes, entry.value_bytes)};
}

void RowSorter::Buffer::Sort() {
  const std::string_view all(bytes);
  std::sort(entries.begin(), entries.end(), [all](const Entry& a, const Entry& b) {
    if (a.head != b.head) return a.head < b.head;
    const int order = all.substr(a.offset, a.key_bytes).compare(all.substr(b.offset, b.key_bytes));
    return order != 0 ? order < 0 : a.offset < b.offset;
  });
}

// What fitted into memory.
class RowsInMemory final : public Source {
 public:
  explicit RowsInMemory(RowSorter::Buffer sorted) : buffer_(std::move(sorted)) {
    for (size_t i = 0; i < buffer_.entries.size(); i++) {
      if (i == 0 || buffer_.At(i).key != buffer_.At(i - 1).key) keys_++;
    }
  }

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    const size_t end = interval.end ? FirstNotBelow(*interval.end) : buffer_.entries.size();
    return std::make_unique<BufferCursor>(&buffer_, FirstNotBelow(interval.begin), end);
  }
  uint64_t EstimateKeys() override { return keys_; }

 private:
  class BufferCursor final : public Cursor {
   public:
    BufferCursor(const RowSorter::Buffer* buffer, size_t begin, size_t end)
        : buffer_(buffer), next_(begin), end_(end) {}
    bool Next(Row* row) override {
      if (next_ >= end_) return false;
      *row = buffer_->At(next_++);
      return true;
    }
    absl::Status status() const override { return absl::OkStatus(); }

   private:
    const RowSorter::Buffer* const buffer_;
    size_t next_;
    const size_t end_;
  };

  size_t FirstNotBelow(std::string_view key) const {
    size_t begin = 0, end = buffer_.entries.size();
    while (begin < end) {
      const size_t middle = begin + (end - begin) / 2;
      if (buffer_.At(middle).key < key) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin;
  }

  RowSorter::Buffer buffer_;
  uint64_t keys_ = 0;
};

absl::Status RowSorter::Check() {
  return options_.check && rows_++ % kRowsPerCheck == 0 ? options_.check() : absl::OkStatus();
}

absl::Status RowSorter::Add(const Row& row) {
  const absl::Status go_on = Check();
  if (!go_on.ok()) return go_on;
  const size_t more = row.key.size() + row.value.size() + sizeof(Entry);
  if (!buffer_.entries.empty() && buffer_.MemoryBytes() + more > options_.memory_bytes) {
    const absl::Status status = Spill();
    if (!status.ok()) return status;
  }
  buffer_.entries.push_back({HeadOf(row.key), buffer_.bytes.size(),
                             static_cast<uint32_t>(row.key.size()), row.value.size()});
  buffer_.bytes.append(row.key);
  buffer_.bytes.append(row.value);
  return absl::OkStatus();
}

absl::Status RowSorter::Spill() {
  buffer_.Sort();
  absl::StatusOr<std::unique_ptr<SortedRunWriter>> writer =
      SortedRunWriter::Create(options_.directory);
  if (!writer.ok()) return writer.status();
  for (size_t i = 0; i < buffer_.entries.size(); i++) {
    absl::Status status = Check();
    if (status.ok()) status = (*writer)->Add(buffer_.At(i));
    if (!status.ok()) return status;
  }
  absl::StatusOr<std::unique_ptr<SortedRun>> run = (*writer)->Finish();
  if (!run.ok()) return run.status();
  runs_.push_back(*std::move(run));
  spilled_runs_++;
  // Keeps its memory for the next one, unless a giant row made it larger than that.
  if (buffer_.bytes.capacity() > 2 * options_.memory_bytes) std::string().swap(buffer_.bytes);
  buffer_.bytes.clear();
  buffer_.entries.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Source>> RowSorter::Finish() {
  const bool stays = buffer_.entries.empty() || buffer_.KeptBytes() <= options_.kept_memory_bytes;
  if (runs_.empty() && stays) {
    buffer_.Sort();
    return std::make_unique<RowsInMemory>(std::move(buffer_));
  }
  if (!buffer_.entries.empty()) {
    const absl::Status status = Spill();
    if (!status.ok()) return status;
  }
  buffer_ = Buffer();
  uint64_t block_bytes = 1;
  for (const auto& run : runs_) block_bytes = std::max(block_bytes, run->largest_block_bytes());
  // Each run that takes part has a block in memory, raw and compressed.
  constexpr size_t kMostAtOnce = 256;
  const size_t at_once =
      std::clamp<size_t>(options_.memory_bytes / (2 * block_bytes), 2, kMostAtOnce);
  while (runs_.size() > 1) {
    std::vector<std::unique_ptr<SortedRun>> merged;
    for (size_t first = 0; first < runs_.size(); first += at_once) {
      absl::StatusOr<std::unique_ptr<SortedRun>> run =
          Merge(first, std::min(at_once, runs_.size() - first));
      if (!run.ok()) return run.status();
      merged.push_back(*std::move(run));
    }
    runs_ = std::move(merged);
  }
  return std::move(runs_.front());
}

absl::StatusOr<std::unique_ptr<SortedRun>> RowSorter::Merge(size_t first, size_t count) {
  if (count == 1) return std::move(runs_[first]);
  struct Input {
    std::unique_ptr<Cursor> cursor;
    Row row;
  };
  std::vector<Input> inputs(count);
  // Of equal keys, those of the earlier run come first.
  const auto comes_later = [&inputs](size_t a, size_t b) {
    const int order = inputs[a].row.key.compare(inputs[b].row.key);
    return order != 0 ? order > 0 : a > b;
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(comes_later)> next(comes_later);
  for (size_t i = 0; i < count; i++) {
    inputs[i].cursor = runs_[first + i]->Scan({});
    if (inputs[i].cursor->Next(&inputs[i].row)) next.push(i);
  }
  absl::StatusOr<std::unique_ptr<SortedRunWriter>> writer =
      SortedRunWriter::Create(options_.directory);
  if (!writer.ok()) return writer.status();
  while (!next.empty()) {
    const size_t i = next.top();
    next.pop();
    absl::Status status = Check();
    if (status.ok()) status = (*writer)->Add(inputs[i].row);
    if (!status.ok()) return status;
    if (inputs[i].cursor->Next(&inputs[i].row)) next.push(i);
  }
  for (const Input& input : inputs) {
    if (!input.cursor->status().ok()) return input.cursor->status();
  }
  for (size_t i = 0; i < count; i++) runs_[first + i].reset();
  return (*writer)->Finish();
}

}  // namespace rocksieve::join
