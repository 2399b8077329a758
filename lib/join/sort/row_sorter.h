// SPDX-License-Identifier: Apache-2.0
// Sorts rows by their keys, as many as there are, in a bounded amount of memory.
//
//   RowSorter sorter(options);
//   for (...) if (absl::Status status = sorter.Add({key, value}); !status.ok()) return status;
//   absl::StatusOr<std::unique_ptr<Source>> sorted = sorter.Finish();
//
// What does not fit goes to a temporary file in sorted, compressed runs, which are merged into one
// (Knuth, The Art of Computer Programming 3, section 5.4). Rows of equal keys keep their order. The
// disk must have room for twice the compressed rows while runs are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/rows/row_batch.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

// What is free for files in a directory, as TemporaryFile::Create() has it; UINT64_MAX if nobody
// can tell.
uint64_t FreeBytes(const std::string& directory);

// A file that has no name, so that nothing is left behind however the process ends.
//
// Thread safety: reading may be done from any thread, once nothing is appended any more.
class TemporaryFile {
 public:
  // In the system's directory for such files ($TMPDIR, else /tmp) if `directory` is empty.
  static absl::StatusOr<std::unique_ptr<TemporaryFile>> Create(const std::string& directory);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  absl::Status Append(std::string_view bytes);
  // Reads just so many bytes, or fails.
  absl::Status Read(uint64_t offset, size_t bytes, char* to) const;
  // Makes it empty.
  absl::Status Clear();
  uint64_t bytes() const { return bytes_; }

 private:
  TemporaryFile(std::string directory, int descriptor);
  absl::Status Error(const char* doing, int error) const;

  const std::string directory_;
  const int descriptor_;
  uint64_t bytes_ = 0;
};

// Keeps rows until it is known what becomes of them: in memory while they are few, else in a
// temporary file.
class RowSpool {
 public:
  // `directory` as TemporaryFile has it.
  explicit RowSpool(std::string directory = "", size_t memory_bytes = 4 << 20)
      : directory_(std::move(directory)), memory_bytes_(memory_bytes) {}

  absl::Status Add(const Row& row, Side from);
  // Calls `visit` for each row, in the order in which they came, up to the first error.
  absl::Status Visit(const std::function<absl::Status(const Row& row, Side from)>& visit) const;
  absl::Status Clear();

 private:
  const std::string directory_;
  const size_t memory_bytes_;
  std::string tail_;  // what is not in the file
  std::unique_ptr<TemporaryFile> file_;
  std::vector<size_t> pieces_;  // bytes of the tails that are in it; no row is in two of them
};

// Rows in order in a temporary file, in compressed blocks with an index of them in memory.
class SortedRun final : public Source {
 public:
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  // Exact.
  uint64_t EstimateKeys() override { return keys_; }

  // What a cursor takes in memory, at most.
  uint64_t largest_block_bytes() const { return largest_block_bytes_; }

 private:
  friend class SortedRunWriter;
  class BlockCursor;
  struct Block {
    std::string head;  // of its first key
    uint64_t offset = 0;
    uint64_t packed_bytes = 0, raw_bytes = 0;
  };

  std::unique_ptr<TemporaryFile> file_;
  std::vector<Block> blocks_;
  uint64_t keys_ = 0;
  uint64_t largest_block_bytes_ = 0;
};

class SortedRunWriter {
 public:
  // In a temporary file in `directory`.
  static absl::StatusOr<std::unique_ptr<SortedRunWriter>> Create(const std::string& directory);

  // REQUIRES: the key is not below the one before.
  absl::Status Add(const Row& row);
  absl::StatusOr<std::unique_ptr<SortedRun>> Finish();

 private:
  SortedRunWriter();
  absl::Status FinishBlock();

  std::unique_ptr<SortedRun> run_;
  const ZstdContext context_;
  std::string raw_, packed_, head_, last_key_;
};

struct SortOptions {
  // For the rows that are being sorted. A single row may be larger, and then takes what it takes.
  size_t memory_bytes = size_t{256} << 20;
  // Sorted rows that take more do not stay in memory, though they fit while they are sorted.
  uint64_t kept_memory_bytes = UINT64_MAX;
  std::string directory;  // for what does not fit; the system's for temporary files if empty
  // Asked now and then whether to go on; may be empty.
  std::function<absl::Status()> check;
};

class RowSorter {
 public:
  explicit RowSorter(SortOptions options) : options_(std::move(options)) {}

  absl::Status Add(const Row& row);
  // The rows in order. EstimateKeys() of it is exact. The sorter is of no more use.
  absl::StatusOr<std::unique_ptr<Source>> Finish();

  uint64_t spilled_runs() const { return spilled_runs_; }

 private:
  friend class RowsInMemory;
  struct Entry {
    uint64_t head;    // the first bytes of the key, as a number that orders like them
    uint64_t offset;  // of key and value in bytes_
    uint32_t key_bytes;
    uint64_t value_bytes;
  };
  // Rows in memory: their bytes, and where each one is.
  struct Buffer {
    std::string bytes;
    std::vector<Entry> entries;

    Row At(size_t i) const;
    void Sort();
    size_t MemoryBytes() const { return bytes.size() + entries.size() * sizeof(Entry); }
    size_t KeptBytes() const { return bytes.capacity() + entries.capacity() * sizeof(Entry); }
  };

  struct Run {
    std::unique_ptr<SortedRun> rows;
    uint32_t merges = 0;  // that it went through
  };

  absl::Status Check();
  absl::Status Spill();
  size_t MostAtOnce() const;  // runs that may be merged
  // Makes one of so many neighbours.
  absl::Status Merge(size_t first_run, size_t count);

  const SortOptions options_;
  Buffer buffer_;
  std::vector<Run> runs_;
  uint64_t spilled_runs_ = 0;
  uint64_t rows_ = 0;  // handled since the beginning, each time
};

}  // namespace rocksieve::join
