// SPDX-License-Identifier: Apache-2.0
// Static filters for C, in librocksieve_filters.so.
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <rocksieve/c.h>
#include <rocksieve/c_arrow.h>
#include <rocksieve/filter.h>

#include "lib/c_api/any_filter.h"
#include "lib/c_api/arrow.h"
#include "lib/c_api/errors.h"

struct rocksieve_builder_t {
  rocksieve::FilterBuilder builder;
  bool complete = true;    // every key was taken
  bool keys_lost = false;  // by the last finish, which failed
};

struct rocksieve_filter_t : rocksieve::OwnedFilter {};

namespace rocksieve {
namespace {

// Of all of them at once, but for range filters, which know more of a key than its hash.
void MayContainKeys(Family family, const Filter& filter, const std::string_view* keys, size_t count,
                    bool* may_contain) {
  if (family == Family::kRange) {
    for (size_t i = 0; i < count; i++) may_contain[i] = filter.MayContain(keys[i]);
    return;
  }
  uint64_t hashes[kKeysTogether];
  for (size_t i = 0; i < count; i++) hashes[i] = filter.KeyHash(keys[i]);
  filter.MayContainHashes(hashes, count, may_contain);
}

}  // namespace
}  // namespace rocksieve

rocksieve_builder_t* rocksieve_builder_create(const char* spec_text, char** error) {
  return rocksieve::WithoutThrowing<rocksieve_builder_t*>(
      nullptr, error, [&]() -> rocksieve_builder_t* {
        rocksieve::FilterSpec spec;
        const std::string problem =
            rocksieve::FilterSpec::Parse(spec_text == nullptr ? "" : spec_text, &spec);
        if (problem.empty()) return new rocksieve_builder_t{rocksieve::FilterBuilder(spec)};
        rocksieve::SetCError(problem, error);
        return nullptr;
      });
}

void rocksieve_builder_add(rocksieve_builder_t* builder, const char* key, size_t length) {
  if (builder == nullptr) return;
  try {
    if (key == nullptr && length > 0) {
      builder->complete = false;
    } else {
      builder->builder.AddKey({key, length});
    }
  } catch (...) {
    builder->complete = false;
  }
}

char* rocksieve_builder_finish(rocksieve_builder_t* builder, size_t* size, char** error) {
  if (builder == nullptr || size == nullptr) {
    rocksieve::SetCError("rocksieve_builder_finish needs a builder and a place for the size",
                         error);
    return nullptr;
  }
  return rocksieve::WithoutThrowing<char*>(nullptr, error, [&]() -> char* {
    const bool complete = std::exchange(builder->complete, true);
    if (complete && builder->builder.key_count() == 0 && builder->keys_lost) {
      throw std::runtime_error(
          "the last filter could not be built, and its keys are lost: add them again");
    }
    builder->keys_lost = builder->builder.key_count() > 0;
    const rocksieve::FilterBlock block = builder->builder.Finish();
    if (!complete) throw std::runtime_error("a key could not be added");
    char* const bytes = rocksieve::CopyForC(block.view(), size, error);
    if (bytes != nullptr) builder->keys_lost = false;
    return bytes;
  });
}

void rocksieve_builder_destroy(rocksieve_builder_t* builder) { delete builder; }

rocksieve_filter_t* rocksieve_filter_open(const char* bytes, size_t size, char** error) {
  return rocksieve::WithoutThrowing<rocksieve_filter_t*>(nullptr, error, [&] {
    return new rocksieve_filter_t{rocksieve::OpenCopy({bytes, bytes == nullptr ? 0 : size})};
  });
}

unsigned char rocksieve_filter_may_contain(const rocksieve_filter_t* filter, const char* key,
                                           size_t length) {
  if (filter == nullptr || (key == nullptr && length > 0)) return 1;
  return rocksieve::WithoutThrowing<unsigned char>(1, nullptr, [&] {
    return filter->filter->MayContain({key, length}) ? 1 : 0;
  });
}

unsigned char rocksieve_filter_may_contain_range(const rocksieve_filter_t* filter,
                                                 const char* begin, size_t begin_length,
                                                 const char* end, size_t end_length) {
  if (filter == nullptr || (begin == nullptr && begin_length > 0) ||
      (end == nullptr && end_length > 0)) {
    return 1;
  }
  return rocksieve::WithoutThrowing<unsigned char>(1, nullptr, [&] {
    return filter->filter->MayContainRange({begin, begin_length}, {end, end_length}) ? 1 : 0;
  });
}

uint64_t rocksieve_filter_key_count(const rocksieve_filter_t* filter) {
  return filter == nullptr ? 0 : filter->info.key_count;
}

double rocksieve_filter_false_positive_rate(const rocksieve_filter_t* filter) {
  if (filter == nullptr) return 1;
  return rocksieve::WithoutThrowing<double>(
      1, nullptr, [&] { return rocksieve::ExpectedFalsePositiveRate(filter->info); });
}

void rocksieve_filter_destroy(rocksieve_filter_t* filter) { delete filter; }

unsigned char rocksieve_builder_add_arrow(rocksieve_builder_t* builder, const ArrowSchema* schema,
                                          const ArrowArray* array, const char* column,
                                          char** error) {
  return rocksieve::AddArrow(builder, schema, array, column, error, [&](std::string_view key) {
    const bool was_complete = std::exchange(builder->complete, false);
    builder->builder.AddKey(key);  // may throw
    builder->complete = was_complete;
    return true;
  });
}

unsigned char rocksieve_filter_may_contain_arrow(const rocksieve_filter_t* filter,
                                                 const ArrowSchema* schema,
                                                 const ArrowArray* array, const char* column,
                                                 uint8_t* bits, size_t first_bit, char** error) {
  return rocksieve::AnswerArrow(
      filter, schema, array, column, bits, first_bit, error,
      [&](const std::string_view* keys, size_t count, bool* may_contain) {
        rocksieve::MayContainKeys(filter->info.family, *filter->filter, keys, count, may_contain);
      });
}
