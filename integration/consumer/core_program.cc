// SPDX-License-Identifier: Apache-2.0
// Filters without RocksDB: builds one and asks it.
#include <cstdio>
#include <string>

#include <rocksieve/filter.h>

int main() {
  rocksieve::FilterSpec spec;
  const std::string error = rocksieve::FilterSpec::Parse("rocksieve.cuckoo:1%", &spec);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  constexpr int kKeys = 10000;
  rocksieve::FilterBuilder builder(spec);
  for (int i = 0; i < kKeys; i++) builder.AddKey("key" + std::to_string(i));
  const rocksieve::FilterBlock block = builder.Finish();

  const rocksieve::OpenedFilter opened = rocksieve::OpenFilter(block.view());
  if (!opened.filter) return 1;
  int found = 0, false_positives = 0;
  for (int i = 0; i < kKeys; i++) {
    found += opened.filter->MayContain("key" + std::to_string(i));
    false_positives += opened.filter->MayContain("none" + std::to_string(i));
  }
  std::printf("%d of %d keys, %d false positives\n", found, kKeys, false_positives);
}
