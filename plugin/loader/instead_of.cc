// SPDX-License-Identifier: Apache-2.0
// Functions of RocksDB that librocksieve.so has as well. Preloaded, it is asked first.
//
// ObjectLibrary::Default is where plugins register: by it a RocksDB is noticed that was loaded
// later than we. The two that make policies give SPEC instead, if ROCKSIEVE_INSTEAD_OF=SPEC. All
// three take and return what C has, so that they are written without RocksDB's headers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include <rocksieve/c.h>

#include "plugin/loader/loader.h"

namespace rocksieve::loader {
namespace {

constexpr char kDefault[] = "_ZN7rocksdb13ObjectLibrary7DefaultEv";
constexpr char kNewBloom[] = "_ZN7rocksdb20NewBloomFilterPolicyEdb";
constexpr char kNewRibbon[] = "_ZN7rocksdb21NewRibbonFilterPolicyEdi";

// RocksDB takes less for "no filter".
constexpr double kLeastBitsPerKey = 0.5;

std::atomic<bool> told{false};

// Programs that ask for RocksDB's own filters have no listener that would keep one.
bool HasBudgetOfBytes(const char* spec) {
  constexpr char kAuto[] = "rocksieve.auto:";
  if (strncmp(spec, kAuto, strlen(kAuto)) != 0) return false;
  const char* const budget = spec + strlen(kAuto);
  const size_t length = strcspn(budget, ":");
  return length > 0 && budget[length - 1] == 'B';
}

// Null: RocksDB's own policy is wanted, or has to do.
void* PolicyInstead(const char* kind, double bits_per_key, void* caller, void* real) {
  const char* const spec = InsteadOf();
  // The build needs RocksDB's own to read filters that are there.
  if (spec == nullptr || spec[0] == '\0' || IsInBuild(caller)) return nullptr;
  if (!(bits_per_key >= kLeastBitsPerKey)) return nullptr;
  if (!LoadFor(real) || !IsServed(real)) return nullptr;
  char* error = nullptr;
  const bool is_refused = HasBudgetOfBytes(spec);
  void* const policy = is_refused ? nullptr : rocksieve_filterpolicy_create(spec, &error);
  if (!told.exchange(true)) {
    if (policy != nullptr) {
      fprintf(stderr,
              "rocksieve: ROCKSIEVE_INSTEAD_OF: %s instead of RocksDB's %s of %g bits per key\n",
              spec, kind, bits_per_key);
    } else {
      fprintf(stderr, "rocksieve: ROCKSIEVE_INSTEAD_OF: RocksDB's own filters are used: %s\n",
              is_refused ? "a budget of bytes needs a listener; take one of bits per entry, for "
                           "example rocksieve.auto:10"
              : error != nullptr ? error
                                 : "no memory");
    }
  }
  free(error);
  return policy;
}

// What `name`, one of RocksDB's functions that make policies, gives to `caller`.
template <typename More>
void* NewPolicy(const char* name, const char* kind, void* caller, double bits_per_key, More more) {
  void* const real = RealFunction(caller, name);
  if (real == nullptr) return nullptr;  // no filter, as there is no RocksDB
  void* const policy = PolicyInstead(kind, bits_per_key, caller, real);
  return policy != nullptr ? policy
                           : reinterpret_cast<void* (*)(double, More)>(real)(bits_per_key, more);
}

}  // namespace
}  // namespace rocksieve::loader

#define ROCKSIEVE_ROCKSDB_FUNCTION extern "C" __attribute__((visibility("default")))

// std::shared_ptr<rocksdb::ObjectLibrary>& rocksdb::ObjectLibrary::Default()
ROCKSIEVE_ROCKSDB_FUNCTION void* _ZN7rocksdb13ObjectLibrary7DefaultEv() {
  using namespace rocksieve::loader;
  void* const caller = __builtin_return_address(0);
  void* const real = RealFunction(caller, kDefault);
  if (real == nullptr) abort();  // nobody has what somebody calls
  if (!IsInBuild(caller)) LoadFor(real);
  return reinterpret_cast<void* (*)()>(real)();
}

// const rocksdb::FilterPolicy* rocksdb::NewBloomFilterPolicy(double, bool)
ROCKSIEVE_ROCKSDB_FUNCTION void* _ZN7rocksdb20NewBloomFilterPolicyEdb(double bits_per_key,
                                                                      bool ignored) {
  using namespace rocksieve::loader;
  return NewPolicy(kNewBloom, "Bloom filter", __builtin_return_address(0), bits_per_key, ignored);
}

// const rocksdb::FilterPolicy* rocksdb::NewRibbonFilterPolicy(double, int)
ROCKSIEVE_ROCKSDB_FUNCTION void* _ZN7rocksdb21NewRibbonFilterPolicyEdi(double bits_per_key,
                                                                       int bloom_before_level) {
  using namespace rocksieve::loader;
  return NewPolicy(kNewRibbon, "Ribbon filter", __builtin_return_address(0), bits_per_key,
                   bloom_before_level);
}
