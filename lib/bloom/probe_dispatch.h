// From a number of probes to the code compiled for it; included by the kernels with wide vectors,
// inside of their target region and anonymous namespace, after they defined Query<kProbes> and
// AddKeysOf<kProbes>. Fewer than 8 probes are left to the portable kernel: few bits are tested, in
// lanes that vary. No include guard: each kernel compiles its own copy.

QueryFunction QueryFor(int probes) {
  switch (probes) {
    case 8:
      return Query<8>;
    case 12:
      return Query<12>;
    case 16:
      return Query<16>;
    default:
      return kPortableKernel.query_for(probes);
  }
}

void AddKeys(const uint64_t* hashes, size_t count, int probes, uint64_t line_count,
             uint64_t first_line, LineMasks* masks) {
  switch (probes) {
    case 8:
      return AddKeysOf<8>(hashes, count, line_count, first_line, masks);
    case 12:
      return AddKeysOf<12>(hashes, count, line_count, first_line, masks);
    case 16:
      return AddKeysOf<16>(hashes, count, line_count, first_line, masks);
    default:
      return kPortableKernel.add_keys(hashes, count, probes, line_count, first_line, masks);
  }
}
