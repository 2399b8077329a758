// SPDX-License-Identifier: Apache-2.0
// The queries, around the test of one line that each instruction set does in its own way; included
// by the kernels, inside of their target region and anonymous namespace, after they defined
//
//   // Whether the line has all probe bits of the key.
//   template <int kProbes>
//   bool LineHas(const uint8_t* line, uint64_t hash);
//
// No include guard: each kernel compiles its own copy.

template <int kProbes>
bool QueryOne(const Filter& filter, uint64_t hash) {
  return LineHas<kProbes>(static_cast<const LineArray&>(filter).LineOf(hash), hash);
}

template <int kProbes>
void QueryMany(const Filter& filter, const uint64_t* hashes, size_t count, bool* may_contain) {
  const auto& array = static_cast<const LineArray&>(filter);
  if (!array.is_fetched_ahead()) {
    for (size_t i = 0; i < count; i++) {
      may_contain[i] = LineHas<kProbes>(array.LineOf(hashes[i]), hashes[i]);
    }
    return;
  }
  const uint8_t* lines[kKeysAhead];
  for (size_t begin = 0; begin < count; begin += kKeysAhead) {
    const size_t keys = count - begin < kKeysAhead ? count - begin : kKeysAhead;
    for (size_t i = 0; i < keys; i++) {
      lines[i] = array.LineOf(hashes[begin + i]);
      __builtin_prefetch(lines[i]);
      __builtin_prefetch(lines[i] + kLineBytes - 1);  // blocks are not aligned to cache lines
    }
    for (size_t i = 0; i < keys; i++) {
      may_contain[begin + i] = LineHas<kProbes>(lines[i], hashes[begin + i]);
    }
  }
}

template <int kProbes>
Queries QueriesOf() {
  return {QueryOne<kProbes>, QueryMany<kProbes>};
}
