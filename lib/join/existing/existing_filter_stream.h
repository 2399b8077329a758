// Existing SST filters as bytes: one after another, each preceded by its length, cut into pieces
// anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "lib/join/existing/existing_filter_set.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/existing_filter.h"

namespace rocksieve::join {

// All of a filter but its block: u8 format | string smallest | string largest.
std::string FrontOf(const ExistingFilter& filter);

void AppendExistingFilter(const ExistingFilter& filter, std::string* out);

// Puts pieces together.
class ExistingFilterAssembler {
 public:
  // The pointers must outlive it. Takes no more memory than `most_bytes` and a piece, and asks for
  // it first: `memory` holds what the set and this keep.
  ExistingFilterAssembler(ExistingFilterSet* set, uint64_t most_bytes, MemoryHold* memory)
      : set_(set), most_bytes_(most_bytes), memory_(memory) {}

  absl::Status Add(std::string_view piece);
  // Nothing is left of a filter that did not end.
  bool AtBoundary() const { return buffer_.empty(); }

 private:
  absl::Status AddFilter(std::string_view bytes);
  // Beside what is kept already.
  absl::Status Hold(uint64_t more_bytes);

  ExistingFilterSet* const set_;
  const uint64_t most_bytes_;
  MemoryHold* const memory_;
  std::string buffer_;
};

}  // namespace rocksieve::join
