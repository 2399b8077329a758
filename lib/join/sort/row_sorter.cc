// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/row_sorter.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <queue>
#include <system_error>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

std::string Chosen(const std::string& directory) {
  const char* const named = std::getenv("TMPDIR");
  return !directory.empty() ? directory : named != nullptr && named[0] != '\0' ? named : "/tmp";
}

}  // namespace

uint64_t FreeBytes(const std::string& directory) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(Chosen(directory), error);
  return error ? UINT64_MAX : space.available;
}

absl::StatusOr<std::unique_ptr<TemporaryFile>> TemporaryFile::Create(const std::string& directory) {
  const std::string chosen = Chosen(directory);
  std::string path = chosen + "/rocksieve-XXXXXX";
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    const char* const remedy =
        errno == EMFILE ? "Allow the process more open files (ulimit -n)"
                        : "Name a directory that can be written to, by TMPDIR in the environment";
    return absl::FailedPreconditionError(absl::StrCat("cannot make a temporary file in ", chosen,
                                                      ": ", std::strerror(errno), ". ", remedy));
  }
  unlink(path.c_str());
  return std::unique_ptr<TemporaryFile>(new TemporaryFile(chosen, descriptor));
}

TemporaryFile::TemporaryFile(std::string directory, int descriptor)
    : directory_(std::move(directory)), descriptor_(descriptor) {}

TemporaryFile::~TemporaryFile() { close(descriptor_); }

absl::Status TemporaryFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(bytes_));
    if (written < 0) {
      if (errno == EINTR) continue;
      return Error("write", errno);
    }
    bytes_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status TemporaryFile::Read(uint64_t offset, size_t bytes, char* to) const {
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error("read", got < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(got);
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status TemporaryFile::Clear() {
  if (ftruncate(descriptor_, 0) != 0) return Error("truncate", errno);
  bytes_ = 0;
  return absl::OkStatus();
}

absl::Status TemporaryFile::Error(const char* doing, int error) const {
  const std::string what = absl::StrCat("cannot ", doing, " a temporary file in ", directory_,
                                        " after ", bytes_, " bytes: ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ". Name a directory with more space, or allow more memory"));
  }
  return absl::DataLossError(what);
}

namespace {

absl::Status Damaged() {
  return absl::DataLossError(
      "a temporary file does not hold what was written to it: its disk is broken");
}

}  // namespace

// A row is twice the bytes of the value, plus 1 if it is the server's, the key with its length, and
// the value.
absl::Status RowSpool::Add(const Row& row, Side from) {
  ByteWriter out(&tail_);
  out.Varint(2 * row.value.size() + (from == Side::kServer ? 1 : 0));
  out.String(row.key);
  out.Bytes(row.value);
  if (tail_.size() <= memory_bytes_) return absl::OkStatus();
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(file_, TemporaryFile::Create(directory_));
  }
  const absl::Status status = file_->Append(tail_);
  pieces_.push_back(tail_.size());
  tail_.clear();
  return status;
}

absl::Status RowSpool::Visit(
    const std::function<absl::Status(const Row& row, Side from)>& visit) const {
  const auto visit_all = [&visit](std::string_view rows) -> absl::Status {
    ByteReader in(rows);
    while (in.remaining() > 0) {
      const uint64_t twice_value_bytes = in.Varint();
      const std::string_view key = in.String(), value = in.Bytes(twice_value_bytes / 2);
      if (!in.ok()) return Damaged();
      RETURN_IF_ERROR(
          visit({key, value}, twice_value_bytes % 2 != 0 ? Side::kServer : Side::kClient));
    }
    return absl::OkStatus();
  };
  std::string piece;
  uint64_t offset = 0;
  for (const size_t bytes : pieces_) {
    piece.resize(bytes);
    RETURN_IF_ERROR(file_->Read(offset, bytes, piece.data()));
    RETURN_IF_ERROR(visit_all(piece));
    offset += bytes;
  }
  return visit_all(tail_);
}

absl::Status RowSpool::Clear() {
  if (tail_.capacity() > 2 * memory_bytes_) std::string().swap(tail_);
  tail_.clear();
  pieces_.clear();
  return file_ == nullptr ? absl::OkStatus() : file_->Clear();
}

namespace {

// Of rows; a block with a larger row is as large as that.
constexpr size_t kBlockBytes = 128 << 10;
constexpr size_t kHeadBytes = 512;  // of a block's first key, which may be as large as the block
constexpr int kCompressionLevel = 1;

}  // namespace

SortedRunWriter::SortedRunWriter()
    : run_(std::make_unique<SortedRun>()), context_(NewZstdContext(kCompressionLevel)) {}

absl::StatusOr<std::unique_ptr<SortedRunWriter>> SortedRunWriter::Create(
    const std::string& directory) {
  ASSIGN_OR_RETURN(std::unique_ptr<TemporaryFile> file, TemporaryFile::Create(directory));
  std::unique_ptr<SortedRunWriter> writer(new SortedRunWriter);
  writer->run_->file_ = std::move(file);
  return writer;
}

// A block is rows, each as two strings with their lengths, in a zstd frame with a checksum.
absl::Status SortedRunWriter::Add(const Row& row) {
  if (run_->keys_ == 0 || row.key != last_key_) {
    run_->keys_++;
    last_key_ = row.key;
  }
  if (raw_.empty()) head_ = row.key.substr(0, kHeadBytes);
  ByteWriter out(&raw_);
  out.String(row.key);
  out.String(row.value);
  return raw_.size() < kBlockBytes ? absl::OkStatus() : FinishBlock();
}

absl::Status SortedRunWriter::FinishBlock() {
  if (raw_.empty()) return absl::OkStatus();
  packed_.resize(ZSTD_compressBound(raw_.size()));
  const size_t size =
      ZSTD_compress2(context_.get(), packed_.data(), packed_.size(), raw_.data(), raw_.size());
  if (ZSTD_isError(size)) return absl::ResourceExhaustedError(ZSTD_getErrorName(size));
  run_->blocks_.push_back({std::move(head_), run_->file_->bytes(), size, raw_.size()});
  run_->largest_block_bytes_ = std::max<uint64_t>(run_->largest_block_bytes_, raw_.size());
  raw_.clear();
  return run_->file_->Append({packed_.data(), size});
}

absl::StatusOr<std::unique_ptr<SortedRun>> SortedRunWriter::Finish() {
  RETURN_IF_ERROR(FinishBlock());
  return std::move(run_);
}

class SortedRun::BlockCursor final : public Cursor {
 public:
  BlockCursor(const SortedRun* run, const KeyInterval& interval) : run_(run), interval_(interval) {
    const std::string_view begin = interval_.begin;
    const auto is_below = [this, begin](const Block& block) {
      const int order = block.head.compare(begin.substr(0, kHeadBytes));
      if (order != 0 || begin.size() <= kHeadBytes) return order < 0;
      return Read(block) && rest_.String() < begin;  // only the block has all of its first key
    };
    const auto after = std::partition_point(run->blocks_.begin(), run->blocks_.end(), is_below);
    rest_ = ByteReader("");
    // Rows of the first key may begin in the block before.
    next_ = static_cast<size_t>(after - run->blocks_.begin());
    if (next_ > 0) next_--;
  }

  bool Next(Row* row) override {
    for (;;) {
      if (rest_.remaining() == 0 && !ReadBlock()) return false;
      row->key = rest_.String();
      row->value = rest_.String();
      if (!rest_.ok()) status_ = Damaged();
      if (!status_.ok() || (interval_.end && row->key >= *interval_.end)) return End();
      if (row->key >= interval_.begin) return true;
    }
  }
  absl::Status status() const override { return status_; }

 private:
  bool End() {
    rest_ = ByteReader("");
    next_ = run_->blocks_.size();
    return false;
  }

  bool ReadBlock() {
    return next_ < run_->blocks_.size() && (Read(run_->blocks_[next_++]) || End());
  }

  bool Read(const Block& block) {
    packed_.resize(block.packed_bytes);
    raw_.resize(block.raw_bytes);
    if (status_.ok()) status_ = run_->file_->Read(block.offset, packed_.size(), packed_.data());
    if (status_.ok() &&
        ZSTD_decompress(raw_.data(), raw_.size(), packed_.data(), packed_.size()) != raw_.size()) {
      status_ = Damaged();
    }
    rest_ = ByteReader(raw_);
    return status_.ok();
  }

  const SortedRun* const run_;
  const KeyInterval interval_;
  size_t next_ = 0;  // block
  std::string packed_, raw_;
  ByteReader rest_{""};
  absl::Status status_;
};

std::unique_ptr<Cursor> SortedRun::Scan(const KeyInterval& interval) {
  return std::make_unique<BlockCursor>(this, interval);
}

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
    const auto& rows = buffer_.entries;
    const auto below = [&](const auto& row) { return buffer_.At(&row - rows.data()).key < key; };
    return std::partition_point(rows.begin(), rows.end(), below) - rows.begin();
  }

  RowSorter::Buffer buffer_;
  uint64_t keys_ = 0;
};

absl::Status RowSorter::Check() {
  return options_.check && rows_++ % kRowsPerCheck == 0 ? options_.check() : absl::OkStatus();
}

absl::Status RowSorter::Add(const Row& row) {
  RETURN_IF_ERROR(Check());
  const size_t more = row.key.size() + row.value.size() + sizeof(Entry);
  if (!buffer_.entries.empty() && buffer_.MemoryBytes() + more > options_.memory_bytes) {
    RETURN_IF_ERROR(Spill());
  }
  buffer_.entries.push_back({HeadOf(row.key), buffer_.bytes.size(),
                             static_cast<uint32_t>(row.key.size()), row.value.size()});
  buffer_.bytes.append(row.key);
  buffer_.bytes.append(row.value);
  return absl::OkStatus();
}

absl::Status RowSorter::Spill() {
  buffer_.Sort();
  ASSIGN_OR_RETURN(std::unique_ptr<SortedRunWriter> writer,
                   SortedRunWriter::Create(options_.directory));
  for (size_t i = 0; i < buffer_.entries.size(); i++) {
    RETURN_IF_ERROR(Check());
    RETURN_IF_ERROR(writer->Add(buffer_.At(i)));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SortedRun> run, writer->Finish());
  runs_.push_back({std::move(run)});
  spilled_runs_++;
  // Keeps its memory for the next one, unless a giant row made it larger than that.
  if (buffer_.bytes.capacity() > 2 * options_.memory_bytes) std::string().swap(buffer_.bytes);
  buffer_.bytes.clear();
  buffer_.entries.clear();
  // Each run has a file open: when there are so many alike, they become one.
  const size_t most = MostAtOnce();
  while (runs_.size() >= most && runs_[runs_.size() - most].merges == runs_.back().merges) {
    std::exchange(buffer_, Buffer());
    RETURN_IF_ERROR(Merge(runs_.size() - most, most));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Source>> RowSorter::Finish() {
  const bool stays = buffer_.entries.empty() || buffer_.KeptBytes() <= options_.kept_memory_bytes;
  if (runs_.empty() && stays) {
    buffer_.Sort();
    return std::make_unique<RowsInMemory>(std::move(buffer_));
  }
  if (!buffer_.entries.empty()) {
    RETURN_IF_ERROR(Spill());
  }
  std::exchange(buffer_, Buffer());  // an assignment would keep the memory of the bytes
  while (runs_.size() > 1) {
    const size_t runs = runs_.size(), most = MostAtOnce();
    if (runs < 2 * most) {  // at first so few that all others are merged at once
      const size_t count = runs <= most ? runs : runs - most + 1;
      RETURN_IF_ERROR(Merge(runs - count, count));
      continue;
    }
    for (size_t first = 0; first < runs_.size(); first++) {
      RETURN_IF_ERROR(Merge(first, std::min(most, runs_.size() - first)));
    }
  }
  return std::move(runs_.front().rows);
}

size_t RowSorter::MostAtOnce() const {
  uint64_t block_bytes = 1;
  for (const Run& run : runs_) block_bytes = std::max(block_bytes, run.rows->largest_block_bytes());
  // Each run that takes part has a block in memory, raw and compressed.
  return std::clamp<size_t>(options_.memory_bytes / (2 * block_bytes), 2, 256);
}

absl::Status RowSorter::Merge(size_t first_run, size_t count) {
  if (count == 1) return absl::OkStatus();
  const auto first = runs_.begin() + static_cast<ptrdiff_t>(first_run);
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
    inputs[i].cursor = first[i].rows->Scan({});
    if (inputs[i].cursor->Next(&inputs[i].row)) next.push(i);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SortedRunWriter> writer,
                   SortedRunWriter::Create(options_.directory));
  while (!next.empty()) {
    const size_t i = next.top();
    next.pop();
    RETURN_IF_ERROR(Check());
    RETURN_IF_ERROR(writer->Add(inputs[i].row));
    if (inputs[i].cursor->Next(&inputs[i].row)) next.push(i);
  }
  for (const Input& input : inputs) {
    if (!input.cursor->status().ok()) return input.cursor->status();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SortedRun> run, writer->Finish());
  *first = {std::move(run), first->merges + 1};
  runs_.erase(first + 1, first + static_cast<ptrdiff_t>(count));
  return absl::OkStatus();
}

}  // namespace rocksieve::join
