// SPDX-License-Identifier: Apache-2.0
// Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022), in their
// single-header form.
#include <binaryfusefilter.h>

#include "bench/third_party/third_party.h"

namespace rocksieve::bench {
namespace {

template <typename Filter, auto kAllocate, auto kPopulate, auto kContain, auto kSize, auto kFree>
ComparedFilter BinaryFuse(const char* name, int bits) {
  return {name, bits,
          [](const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* bits) {
            std::shared_ptr<Filter> built(new Filter, [](Filter* old) {
              kFree(old);
              delete old;
            });
            Hashes scratch = keys;
            kAllocate(static_cast<uint32_t>(keys.size()), built.get());
            kPopulate(scratch.data(), static_cast<uint32_t>(scratch.size()), built.get());
            *bits = 8 * kSize(built.get());
            *filter = built;
          },
          [](const void* filter, const Hashes& asked) {
            uint64_t found = 0;
            for (uint64_t hash : asked) found += kContain(hash, static_cast<const Filter*>(filter));
            return found;
          }};
}

}  // namespace

std::vector<ComparedFilter> BinaryFuseFilters() {
  return {
      BinaryFuse<binary_fuse8_t, binary_fuse8_allocate, binary_fuse8_populate, binary_fuse8_contain,
                 binary_fuse8_size_in_bytes, binary_fuse8_free>("binary fuse, 8 bits", 8),
      BinaryFuse<binary_fuse16_t, binary_fuse16_allocate, binary_fuse16_populate,
                 binary_fuse16_contain, binary_fuse16_size_in_bytes, binary_fuse16_free>(
          "binary fuse, 16 bits", 16)};
}

}  // namespace rocksieve::bench
