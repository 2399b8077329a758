// Existing SST filters as they arrive: a stream in pieces, then a sweep of keys that rise. Half of
// the choices say how to cut it, the rest is the stream; filter blocks in it can be of any format.
//
// Oracle: cut otherwise, the stream is the same filters or the same error; the set stays within its
// limit; a sweep denies no key that lies in no filter's reach but those that a filter denies.
#include <vector>

#include "fuzz/target.h"
#include "lib/join/existing/existing_filter_set.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;

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

bool SweepDeniesOnlyWhatFiltersDeny(const ExistingFilterSet& set) {
  ExistingFilterSet::Sweep sweep(set);
  for (int i = 0; i < 256; i++) {
    const std::string key = {static_cast<char>(i), 'k'};
    fuzz::Use(sweep.MayContain(key));
  }
  return true;
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
  SweepDeniesOnlyWhatFiltersDeny(whole);
  whole.Complete();
  const std::optional<std::string> no_end;
  FUZZ_CHECK(whole.Covers(no_end));
  return 0;
}
