// SPDX-License-Identifier: Apache-2.0
// The loops over keys, around what each instruction set does in its own way with one; included by
// the kernels, inside of their target region and anonymous namespace, after they defined
//
//   // Whether the line has all probe bits of the key.
//   template <int kProbes>
//   bool LineHas(const uint8_t* line, uint64_t hash);
//   // Sets the unturned probe bits of the key, in the words of its line and group.
//   template <int kProbes>
//   void AddKey(uint64_t hash, uint64_t* words);
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
      __builtin_prefetch(lines[i], 0, kAheadLocality);
      // Blocks are not aligned to cache lines.
      __builtin_prefetch(lines[i] + kLineBytes - 1, 0, kAheadLocality);
    }
    for (size_t i = 0; i < keys; i++) {
      may_contain[begin + i] = LineHas<kProbes>(lines[i], hashes[begin + i]);
    }
  }
}

template <int kProbes>
constexpr Queries kQueriesOf = {QueryOne<kProbes>, QueryMany<kProbes>};

inline Queries QueriesFor(int probes) {
  constexpr Queries kFew[] = {kQueriesOf<1>, kQueriesOf<2>, kQueriesOf<3>,
                              kQueriesOf<4>, kQueriesOf<5>, kQueriesOf<6>};
  if (probes < 8) return kFew[probes - 1];
  return probes == 8 ? kQueriesOf<8> : probes == 12 ? kQueriesOf<12> : kQueriesOf<16>;
}

template <int kProbes>
void AddKeysOf(const uint64_t* hashes, size_t count, uint64_t line_count, uint64_t first_line,
               LineMasks* masks) {
  for (size_t i = 0; i < count; i++) {
    const uint64_t hash = hashes[i];
    AddKey<kProbes>(hash, masks[LineIndex(hash, line_count) - first_line][Group(hash)]);
  }
}

inline void AddKeys(const uint64_t* hashes, size_t count, int probes, uint64_t line_count,
                    uint64_t first_line, LineMasks* masks) {
  constexpr decltype(&AddKeysOf<8>) kFew[] = {AddKeysOf<1>, AddKeysOf<2>, AddKeysOf<3>,
                                              AddKeysOf<4>, AddKeysOf<5>, AddKeysOf<6>};
  const auto add = probes < 8     ? kFew[probes - 1]
                   : probes == 8  ? AddKeysOf<8>
                   : probes == 12 ? AddKeysOf<12>
                                  : AddKeysOf<16>;
  add(hashes, count, line_count, first_line, masks);
}
