// Plain words for who has a sketch alone, atomic ones for who has not. Relaxed: what a word says
// does not hang on other memory. On x86-64 and arm64 such a load is an ordinary one.
#pragma once

#include <atomic>

namespace rocksieve {

template <typename Word>
Word LoadRelaxed(const Word& word) {
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_relaxed);
}

}  // namespace rocksieve
