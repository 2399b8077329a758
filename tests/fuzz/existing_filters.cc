// SPDX-License-Identifier: Apache-2.0
// Existing SST filters as they arrive: a stream in pieces, then a sweep of keys that rise. Half of
// the choices say how to cut it, the rest is the stream; filter blocks in it can be of any format.
//
// Oracle: cut otherwise, the stream is the same filters or the same error; the set stays within its
// limit; a sweep passes a key if and only if it lies within the fences of a filter that passes it,
// or cannot be read.
#include <algorithm>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/join/existing/existing_filters.h"
#include "tests/fuzz/target.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;
constexpr size_t kFewFilters = 500;  // in which no sweep gives up because too many overlap

// Stands for RocksDB's formats.
class FirstByteFilter final : public KeyFilter {
 public:
  explicit FirstByteFilter(std::string_view block) : block_(block) {}
  bool MayContain(std::string_view key) const override {
    return !key.empty() && block_.find(key.front()) != std::string_view::npos;
  }

 private:
  const std::string_view block_;
};

std::unique_ptr<KeyFilter> DecodeFirstBytes(std::string_view block) {
  if (block.size() % 3 == 0) return nullptr;
  return std::make_unique<FirstByteFilter>(block);
}

// The first `count` filters of a stream that was taken that far.
std::vector<ExistingFilter> FiltersIn(std::string_view stream, size_t count) {
  std::vector<ExistingFilter> filters;
  ByteReader in(stream);
  while (filters.size() < count) {
    ByteReader one(in.Bytes(in.Varint()));
    ExistingFilter& filter = filters.emplace_back();
    filter.format = static_cast<FilterFormat>(one.U8());
    filter.smallest = one.String();
    filter.largest = one.String();
    filter.block = one.Rest();
    FUZZ_CHECK(one.ok());
  }
  return filters;
}

bool Passes(const ExistingFilter& filter, std::string_view key) {
  if (key < filter.smallest || key > filter.largest) return false;
  if (filter.format == FilterFormat::kOurs) {
    const OpenedFilter opened = OpenFilter(filter.block);
    return opened.filter == nullptr || opened.filter->MayContain(key);
  }
  if (filter.format != FilterFormat::kRocksDbBuiltin) return true;
  const std::unique_ptr<KeyFilter> decoded = DecodeFirstBytes(filter.block);
  return decoded == nullptr || decoded->MayContain(key);
}

void CheckSweep(const ExistingFilterSet& set, const std::vector<ExistingFilter>& filters) {
  ExistingFilterSet::Sweep sweep(set);
  for (int i = 0; i < 256; i++) {
    const std::string key = {static_cast<char>(i), 'k'};
    const bool may_contain = sweep.MayContain(key);
    if (filters.size() > kFewFilters) continue;
    FUZZ_CHECK(may_contain ==
               std::any_of(filters.begin(), filters.end(),
                           [&key](const ExistingFilter& filter) { return Passes(filter, key); }));
  }
}

}  // namespace
}  // namespace rocksieve::join

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve::join;
  rocksieve::fuzz::Choices choices(data, size);
  const size_t piece_bytes = 1 + choices.UpTo(255);
  const std::string_view stream = choices.Rest();
  ExistingFilterSet whole(DecodeFirstBytes), cut(DecodeFirstBytes);
  MemoryHold no_limit, no_limit_either;
  ExistingFilterAssembler at_once(&whole, kMostBytes, &no_limit);
  ExistingFilterAssembler by_pieces(&cut, kMostBytes, &no_limit_either);
  const rocksieve::fuzz::ExactCopy all(stream);
  const absl::Status status = at_once.Add(all.view());
  absl::Status cut_status;
  for (size_t at = 0; at < stream.size() && cut_status.ok(); at += piece_bytes) {
    const rocksieve::fuzz::ExactCopy piece(stream.substr(at, piece_bytes));
    cut_status = by_pieces.Add(piece.view());
  }
  FUZZ_CHECK(status.code() == cut_status.code());
  FUZZ_CHECK(whole.size() == cut.size() && whole.bytes() == cut.bytes());
  FUZZ_CHECK(whole.DigestOf(whole.size()) == cut.DigestOf(cut.size()));
  if (status.ok()) FUZZ_CHECK(at_once.AtBoundary() == by_pieces.AtBoundary());
  CheckSweep(whole, FiltersIn(stream, whole.size()));
  whole.Complete();
  const std::optional<std::string> no_end;
  FUZZ_CHECK(whole.Covers(no_end));
  return 0;
}
