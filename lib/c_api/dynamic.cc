// SPDX-License-Identifier: Apache-2.0
// Filters that take their keys one by one, for C, in librocksieve_filters.so.
#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <rocksieve/c.h>
#include <rocksieve/c_arrow.h>

#include "lib/c_api/any_filter.h"
#include "lib/c_api/arrow.h"
#include "lib/c_api/errors.h"

struct rocksieve_dynamic_t {
  rocksieve::AnyDynamic filter;
  const char* kind() const { return rocksieve::kDynamicKinds[filter.index()]; }
};

namespace rocksieve {
namespace {

ScalableBloomFilterOptions ScalableOptions(uint64_t keys, double rate) {
  ScalableBloomFilterOptions options;
  options.initial_keys = std::max(keys, ScalableBloomFilterOptions::kLeastInitialKeys);
  options.false_positive_rate = rate;
  return options;
}

AnyDynamic MakeDynamic(size_t kind, uint64_t keys, double rate, uint64_t seed) {
  switch (kind) {
    case 0:
      return BloomFilter(WithSeed(BloomFilterOptions::ForKeys(keys, rate), seed));
    case 1:
      return ScalableBloomFilter(WithSeed(ScalableOptions(keys, rate), seed));
    case 2:
      return CountingBloomFilter(WithSeed(CountingBloomFilterOptions::ForKeys(keys, rate), seed));
    default:
      return CuckooFilter(WithSeed(CuckooFilterOptions::ForKeys(keys, rate), seed));
  }
}

// Whether there is a filter and a key; else an error.
bool HasArguments(const rocksieve_dynamic_t* dynamic, const char* key, size_t length,
                  char** error) {
  if (dynamic != nullptr && (key != nullptr || length == 0)) return true;
  SetCError(dynamic == nullptr ? "there is no filter" : "there is no key", error);
  return false;
}

// What `visit` returns of the filter as its kind; `otherwise`, and an error, if something is
// missing or this throws.
template <typename Result, typename Dynamic, typename Visit>
Result Ask(Result otherwise, Dynamic* dynamic, const char* key, size_t length, char** error,
           const Visit& visit) {
  if (!HasArguments(dynamic, key, length, error)) return otherwise;
  return WithoutThrowing<Result>(otherwise, error,
                                 [&] { return std::visit(visit, dynamic->filter); });
}

}  // namespace
}  // namespace rocksieve

rocksieve_dynamic_t* rocksieve_dynamic_create(const char* kind, uint64_t keys,
                                              double false_positive_rate, uint64_t seed,
                                              char** error) {
  return rocksieve::WithoutThrowing<rocksieve_dynamic_t*>(nullptr, error, [&] {
    return new rocksieve_dynamic_t{rocksieve::MakeDynamic(
        rocksieve::KindOf(kind, rocksieve::kDynamicKinds), keys, false_positive_rate, seed)};
  });
}

const char* rocksieve_dynamic_kind(const rocksieve_dynamic_t* dynamic) {
  return dynamic == nullptr ? "" : dynamic->kind();
}

unsigned char rocksieve_dynamic_add(rocksieve_dynamic_t* dynamic, const char* key, size_t length,
                                    char** error) {
  const auto add = [&](auto& filter) -> unsigned char {
    if constexpr (std::is_void_v<decltype(filter.Add(""))>) {
      filter.Add({key, length});
      return 1;
    } else {
      if (filter.Add({key, length})) return 1;
      return rocksieve::FailForC(std::string("the ") + dynamic->kind() +
                                     " filter has no room for this key, and is as it was: make a "
                                     "larger one, or remove keys",
                                 error);
    }
  };
  return rocksieve::Ask<unsigned char>(0, dynamic, key, length, error, add);
}

unsigned char rocksieve_dynamic_may_contain(const rocksieve_dynamic_t* dynamic, const char* key,
                                            size_t length) {
  return rocksieve::Ask<unsigned char>(1, dynamic, key, length, nullptr, [&](const auto& filter) {
    return filter.MayContain({key, length});
  });
}

unsigned char rocksieve_dynamic_remove(rocksieve_dynamic_t* dynamic, const char* key, size_t length,
                                       char** error) {
  const auto remove = [&](auto& filter) -> unsigned char {
    if constexpr (requires { filter.Remove(""); }) {
      return filter.Remove({key, length});
    } else {
      return rocksieve::FailForC(std::string("nothing can be removed from a ") + dynamic->kind() +
                                     " filter; take counting-bloom or cuckoo",
                                 error);
    }
  };
  return rocksieve::Ask<unsigned char>(0, dynamic, key, length, error, remove);
}

uint64_t rocksieve_dynamic_count(const rocksieve_dynamic_t* dynamic, const char* key,
                                 size_t length) {
  const auto count = [&](const auto& filter) -> uint64_t {
    if constexpr (requires { filter.Count(""); }) {
      return filter.Count({key, length});
    } else {
      return filter.MayContain({key, length}) ? 1 : 0;
    }
  };
  return rocksieve::Ask<uint64_t>(UINT64_MAX, dynamic, key, length, nullptr, count);
}

unsigned char rocksieve_dynamic_merge(rocksieve_dynamic_t* dynamic,
                                      const rocksieve_dynamic_t* other, char** error) {
  const auto merge = [&]<typename Filter>(Filter& filter) -> unsigned char {
    if (other == nullptr) return rocksieve::FailForC("there is no filter", error);
    if constexpr (requires { filter.Merge(filter); }) {
      const Filter* const same = std::get_if<Filter>(&other->filter);
      if (same != nullptr && rocksieve::MergeFrom(*same, &filter)) return 1;
      return rocksieve::FailForC(
          "filters merge only if kind, keys, rate and seed are those of each other, and if there "
          "is room",
          error);
    } else {
      return rocksieve::FailForC(
          std::string("a ") + dynamic->kind() + " filter does not merge; keep and ask both", error);
    }
  };
  return rocksieve::Ask<unsigned char>(0, dynamic, "", 0, error, merge);
}

double rocksieve_dynamic_false_positive_rate(const rocksieve_dynamic_t* dynamic) {
  return rocksieve::Ask<double>(1, dynamic, "", 0, nullptr, [](const auto& filter) {
    return filter.ExpectedFalsePositiveRate();
  });
}

size_t rocksieve_dynamic_memory_bytes(const rocksieve_dynamic_t* dynamic) {
  if (dynamic == nullptr) return 0;
  return rocksieve::MemoryBytesOf(dynamic->filter);
}

char* rocksieve_dynamic_serialize(const rocksieve_dynamic_t* dynamic, size_t* size, char** error) {
  if (dynamic == nullptr || size == nullptr) {
    rocksieve::SetCError("there is no filter, or no place for the size", error);
    return nullptr;
  }
  return rocksieve::SerializeForC(dynamic->filter, size, error);
}

rocksieve_dynamic_t* rocksieve_dynamic_deserialize(const char* bytes, size_t size, char** error) {
  return rocksieve::WithoutThrowing<rocksieve_dynamic_t*>(nullptr, error, [&] {
    return new rocksieve_dynamic_t{rocksieve::ReadKind<rocksieve::AnyDynamic>(
        {bytes, bytes == nullptr ? 0 : size}, rocksieve::kDynamicKinds)};
  });
}

void rocksieve_dynamic_destroy(rocksieve_dynamic_t* dynamic) { delete dynamic; }

unsigned char rocksieve_dynamic_add_arrow(rocksieve_dynamic_t* dynamic, const ArrowSchema* schema,
                                          const ArrowArray* array, const char* column,
                                          char** error) {
  return rocksieve::AddArrow(dynamic, schema, array, column, error, [&](std::string_view key) {
    return rocksieve_dynamic_add(dynamic, key.data(), key.size(), error) != 0;
  });
}

unsigned char rocksieve_dynamic_may_contain_arrow(const rocksieve_dynamic_t* dynamic,
                                                  const ArrowSchema* schema,
                                                  const ArrowArray* array, const char* column,
                                                  uint8_t* bits, size_t first_bit, char** error) {
  return rocksieve::AnswerArrow(
      dynamic, schema, array, column, bits, first_bit, error,
      [&](const std::string_view* keys, size_t count, bool* may_contain) {
        std::visit(
            [&](const auto& filter) {
              for (size_t i = 0; i < count; i++) may_contain[i] = filter.MayContain(keys[i]);
            },
            dynamic->filter);
      });
}
